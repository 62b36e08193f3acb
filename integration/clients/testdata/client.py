"""What PyMySQL must be able to do. Arguments: host and port."""
import datetime
import decimal
import sys
import threading

import pymysql
import pymysql.cursors


def check(got, want):
    if got != want or [type(g) for g in got or ()] != [type(w) for w in want or ()]:
        raise AssertionError(f"got {got!r}, want {want!r}")


def check_error(cursor, statement, number, kind):
    try:
        cursor.execute(statement)
    except kind as e:
        if e.args[0] != number:
            raise AssertionError(f"{statement}: {e!r}, want {number}") from e
    else:
        raise AssertionError(f"{statement} succeeded")


def connect(**options):
    return pymysql.connect(host=sys.argv[1], port=int(sys.argv[2]), user="root", **options)


ENDLESS = "SELECT COUNT(*) FROM range(1000000) a, range(1000000) b, range(1000000) c"


def kill(thread_id):
    """Kills the endless query of a connection once it is seen to run."""
    with connect() as connection, connection.cursor() as cursor:
        while not cursor.execute("SELECT ID FROM information_schema.PROCESSLIST WHERE ID = %s AND INFO = %s", (thread_id, ENDLESS)):
            pass
        cursor.execute(f"KILL QUERY {thread_id}")


def main():
    connection = connect(charset="utf8mb4")
    cursor = connection.cursor()
    cursor.execute("DROP DATABASE IF EXISTS python")
    cursor.execute("CREATE DATABASE python")
    connection.select_db("python")
    cursor.execute("CREATE TABLE t (id INT NOT NULL, price DECIMAL(10,2), at DATETIME(3), note STRING)")
    cursor.execute("DESC t")
    check(cursor.fetchone(), ("id", "int", "NO", "true", None, ""))

    cursor.execute("SELECT * FROM t")
    check([d[0] for d in cursor.description], ["id", "price", "at", "note"])
    check(cursor.fetchall(), ())

    cursor.execute(
        "SELECT 1, 1.5, 1.5e0, 'text', NULL, CAST('2024-02-29' AS DATE), CAST('2024-02-29 12:00:00.5' AS DATETIME(3)),"
        " CAST(2.50 AS DECIMAL(10,2)), %s, %s, %s", ("it's \\ %", datetime.datetime(2024, 2, 29, 12), None))
    check(cursor.fetchone(), (
        1, decimal.Decimal("1.5"), 1.5, "text", None, datetime.date(2024, 2, 29), datetime.datetime(2024, 2, 29, 12, 0, 0, 500000),
        decimal.Decimal("2.50"), "it's \\ %", "2024-02-29 12:00:00", None))

    check_error(cursor, "SELECT nothing", 1054, pymysql.err.OperationalError)
    check_error(cursor, "SELECT * FROM nothing", 1146, pymysql.err.ProgrammingError)
    check_error(cursor, "SELEKT", 1064, pymysql.err.ProgrammingError)
    check_error(cursor, "CREATE TABLE t (a INT)", 1050, pymysql.err.OperationalError)
    check_error(cursor, "INSERT INTO t (id) VALUES (1)", 1235, pymysql.err.NotSupportedError)
    try:
        connect(database="nowhere")
    except pymysql.err.OperationalError as e:
        check(e.args[:1], (1049,))

    connection.begin()
    connection.commit()
    connection.rollback()
    connection.ping(reconnect=False)

    # unbuffered rows, left in the middle
    with connect(cursorclass=pymysql.cursors.SSCursor) as unbuffered, unbuffered.cursor() as rows:
        rows.execute("SELECT range FROM range(100000)")
        check(rows.fetchmany(2), [(0,), (1,)])

    # another connection kills the query
    killer = threading.Thread(target=kill, args=[connection.thread_id()])
    killer.start()
    check_error(cursor, ENDLESS, 1317, pymysql.err.OperationalError)
    killer.join()
    cursor.execute("SELECT 'usable'")
    check(cursor.fetchone(), ("usable",))
    connection.close()


main()
