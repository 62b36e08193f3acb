import com.mysql.cj.jdbc.JdbcConnection;
import com.mysql.cj.jdbc.exceptions.MySQLQueryInterruptedException;
import com.mysql.cj.jdbc.exceptions.MySQLStatementCancelledException;
import java.math.BigDecimal;
import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.Date;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.SQLTimeoutException;
import java.sql.Statement;
import java.time.LocalDateTime;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/** What Connector/J must be able to do. Arguments: the URL and the driver's options. */
public class Client {
    static final String ENDLESS = "SELECT COUNT(*) FROM range(1000000) a, range(1000000) b, range(1000000) c";

    interface Call {
        void run() throws SQLException;
    }

    public static void main(String[] args) throws Exception {
        String url = args[0] + "?user=root&" + args[1];
        try (Connection c = DriverManager.getConnection(url)) {
            try (Statement s = c.createStatement()) {
                s.execute("DROP DATABASE IF EXISTS java");
                s.execute("CREATE DATABASE java");
            }
            c.setCatalog("java");
            try (Statement s = c.createStatement()) {
                s.execute("CREATE TABLE t (id INT NOT NULL COMMENT 'number', flag BOOLEAN, small TINYINT, price DECIMAL(10,2), at DATETIME(3), name VARCHAR(20), note STRING)");
            }
            describes(c.getMetaData());
            browsesAll(c.getMetaData());
            types(c);
            prepares(c);
            errors(c);
            limits(c);
            cancels(c, url);
            session(c);
        }
    }

    static void check(Object got, Object want) {
        if (!Objects.equals(got, want)) {
            throw new AssertionError("got " + got + ", want " + want);
        }
    }

    static void checkError(int number, String state, Call call) {
        try {
            call.run();
        } catch (SQLException e) {
            if (e.getErrorCode() != number || !e.getSQLState().equals(state)) {
                throw new AssertionError("want " + number + " " + state, e);
            }
            return;
        }
        throw new AssertionError("no error, want " + number);
    }

    /** One column of all rows. */
    static List<Object> column(ResultSet rows, String name) throws SQLException {
        List<Object> values = new ArrayList<>();
        while (rows.next()) {
            values.add(rows.getObject(name));
        }
        rows.close();
        return values;
    }

    static void describes(DatabaseMetaData m) throws SQLException {
        check(column(m.getCatalogs(), "TABLE_CAT").contains("java"), true);
        check(column(m.getTables("java", null, "%", new String[] {"TABLE", "VIEW"}), "TABLE_NAME"), List.of("t"));
        check(column(m.getColumns("java", null, "t", "%"), "COLUMN_NAME"), List.of("id", "flag", "small", "price", "at", "name", "note"));
        check(column(m.getColumns("java", null, "t", "%"), "NULLABLE").get(0), DatabaseMetaData.columnNoNulls);
        check(column(m.getColumns("java", null, "t", "%"), "REMARKS").get(0), "number");
        check(column(m.getPrimaryKeys("java", null, "t"), "COLUMN_NAME"), List.of());
        check(column(m.getIndexInfo("java", null, "t", false, false), "INDEX_NAME"), List.of());
    }

    static void browsesAll(DatabaseMetaData m) throws SQLException {
        m.getSchemas().close();
        m.getImportedKeys("java", null, "t").close();
        m.getExportedKeys("java", null, "t").close();
        m.getProcedures("java", null, "%").close();
        m.getFunctions("java", null, "%").close();
        m.getBestRowIdentifier("java", null, "t", DatabaseMetaData.bestRowSession, true).close();
        m.getVersionColumns("java", null, "t").close();
        m.getTypeInfo().close();
        m.getTableTypes().close();
        check(m.getUserName().startsWith("root@"), true);
    }

    static void types(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            ResultSetMetaData t = s.executeQuery("SELECT * FROM t").getMetaData();
            List<String> classes = new ArrayList<>();
            for (int i = 1; i <= t.getColumnCount(); i++) {
                classes.add(t.getColumnClassName(i).replaceAll(".*\\.", ""));
            }
            check(classes, List.of("Integer", "Boolean", "Integer", "BigDecimal", "LocalDateTime", "String", "String"));
            check(t.getPrecision(4) + "," + t.getScale(4), "10,2");
            check(t.getColumnDisplaySize(6), 20);

            ResultSet r = s.executeQuery("SELECT 1, 2.50, 1.5e0, 'text', NULL, CAST('2024-02-29' AS DATE), CAST('2024-02-29 12:00:00.5' AS DATETIME), 9223372036854775807");
            r.next();
            check(((Number) r.getObject(1)).intValue(), 1);
            check(r.getObject(2), new BigDecimal("2.50"));
            check(r.getObject(3), 1.5);
            check(r.getObject(4), "text");
            check(r.getObject(5), null);
            check(r.getObject(6), Date.valueOf("2024-02-29"));
            check(r.getObject(7), LocalDateTime.parse("2024-02-29T12:00:00.5"));
            check(r.getLong(8), Long.MAX_VALUE);
        }
    }

    static void prepares(Connection c) throws SQLException {
        try (PreparedStatement p = c.prepareStatement("SELECT range AS n, ? AS word FROM range(10) WHERE range >= ? AND range < ? ORDER BY range")) {
            for (int first = 1; first <= 2; first++) {
                p.setString(1, "w\u00f6rd'\\");
                p.setInt(2, first);
                p.setLong(3, first + 5);
                ResultSet r = p.executeQuery();
                for (long n = first; n < first + 5; n++) {
                    check(r.next(), true);
                    check(r.getLong("N"), n);
                    check(r.getString("word"), "w\u00f6rd'\\");
                }
                check(r.next(), false);
            }
        }
        try (PreparedStatement p = c.prepareStatement("SELECT id, name FROM t WHERE id = ? AND price > ? AND at < ? AND name = ? LIMIT ?")) {
            check(p.getMetaData().getColumnCount(), 2);
            for (int i = 0; i < 2; i++) {
                p.setInt(1, 1);
                p.setBigDecimal(2, new BigDecimal("1.50"));
                p.setObject(3, LocalDateTime.parse("2024-02-29T12:00:00"));
                p.setNull(4, java.sql.Types.VARCHAR);
                p.setInt(5, 10);
                check(p.executeQuery().next(), false);
            }
        }
        try (PreparedStatement p = c.prepareStatement("SHOW TABLES")) {
            check(column(p.executeQuery(), "Tables_in_java"), List.of("t"));
        }
    }

    static void errors(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            checkError(1146, "42S02", () -> s.executeQuery("SELECT * FROM nothing"));
            checkError(1054, "42S22", () -> s.executeQuery("SELECT nothing FROM t"));
            checkError(1064, "42000", () -> s.execute("SELEKT"));
            checkError(1235, "42000", () -> s.executeUpdate("INSERT INTO t (id) VALUES (1)"));
        }
        checkError(1146, "42S02", () -> c.prepareStatement("SELECT * FROM nothing WHERE id = ?").getMetaData());
        try (PreparedStatement p = c.prepareStatement("INSERT INTO t (id) VALUES (?)")) {
            p.setInt(1, 1);
            checkError(1235, "42000", p::executeUpdate);
        }
        check(c.isValid(10), true);
    }

    static void limits(Connection c) throws SQLException {
        try (Statement s = c.createStatement()) {
            s.setMaxRows(3);
            check(column(s.executeQuery("SELECT range AS n FROM range(10) ORDER BY n"), "n").size(), 3);
        }
        try (Statement s = c.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_READ_ONLY)) {
            s.setFetchSize(Integer.MIN_VALUE);
            check(column(s.executeQuery("SELECT range AS n FROM range(10000)"), "n").size(), 10000);
        }
    }

    static void cancels(Connection c, String url) throws Exception {
        try (Statement s = c.createStatement()) {
            s.setQueryTimeout(1);
            checkStopped(s);
        }
        try (Statement s = c.createStatement(); Connection other = DriverManager.getConnection(url)) {
            Thread canceller = new Thread(() -> {
                try {
                    awaitRunning(other);
                    s.cancel();
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            canceller.start();
            checkStopped(s);
            canceller.join();
        }
        check(c.isValid(10), true);
    }

    /** Which exception it is depends on how far the driver has come. */
    static void checkStopped(Statement s) {
        try {
            s.executeQuery(ENDLESS).next();
        } catch (SQLTimeoutException | MySQLStatementCancelledException | MySQLQueryInterruptedException e) {
            return;
        } catch (SQLException e) {
            throw new AssertionError("no cancellation", e);
        }
        throw new AssertionError("the query ended");
    }

    static void awaitRunning(Connection other) throws SQLException {
        try (Statement s = other.createStatement()) {
            while (column(s.executeQuery("SELECT ID FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT COUNT(*) FROM range%'"), "ID").isEmpty()) {
            }
        }
    }

    static void session(Connection c) throws SQLException {
        c.setAutoCommit(false);
        c.commit();
        c.rollback();
        c.setAutoCommit(true);
        c.setTransactionIsolation(Connection.TRANSACTION_READ_COMMITTED);
        check(c.getTransactionIsolation(), Connection.TRANSACTION_READ_COMMITTED);
        c.setReadOnly(true);
        c.setReadOnly(false);
        check(c.getCatalog(), "java");
        c.unwrap(JdbcConnection.class).resetServerState();
        check(c.isValid(10), true);
        check(c.getWarnings(), null);
    }
}
