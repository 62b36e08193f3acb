package rewrite

import (
	"fmt"
	"strings"
	"time"

	tidb "github.com/pingcap/tidb/pkg/parser/ast"
	literals "github.com/pingcap/tidb/pkg/parser/test_driver"

	"shoal/sql/duckdb"
	"shoal/sql/timezone"
)

// specifiers of MySQL's DATE_FORMAT in DuckDB's words. What is left out has no
// counterpart.
var specifiers = map[byte]string{
	'a': "%a", 'b': "%b", 'c': "%-m", 'd': "%d", 'e': "%-d", 'f': "%f", 'H': "%H", 'h': "%I", 'I': "%I", 'i': "%M", 'j': "%j", 'k': "%-H", 'l': "%-I",
	'M': "%B", 'm': "%m", 'p': "%p", 'r': "%I:%M:%S %p", 'S': "%S", 's': "%S", 'T': "%H:%M:%S", 'U': "%U", 'u': "%W", 'v': "%V", 'W': "%A", 'w': "%w", 'x': "%G", 'Y': "%Y", 'y': "%y", '%': "%%",
}

// javaFormats are the formats in Java's spelling that Doris knows too.
var javaFormats = map[string]string{"yyyyMMdd": "%Y%m%d", "yyyy-MM-dd": "%Y-%m-%d", "yyyy-MM-dd HH:mm:ss": "%Y-%m-%d %H:%i:%s"}

// dateFormatOf translates a format, which must be a literal.
func dateFormatOf(node tidb.ExprNode) string {
	format, ok := stringLiteral(node)
	if !ok {
		unsupported("a date format that is no literal")
	}
	if mysql, ok := javaFormats[format]; ok {
		format = mysql
	}
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		specifier, ok := specifiers[format[i]]
		switch {
		case ok:
			b.WriteString(specifier)
		case strings.IndexByte("DVX", format[i]) >= 0:
			unsupported("%%%c in a date format", format[i])
		default: // MySQL takes an unknown specifier as the character
			b.WriteByte(format[i])
		}
	}
	return duckdb.QuoteString(b.String())
}

func (p *printer) dateFormat(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	return "strftime(" + p.arg(datetime, n.Args[0]) + ", " + dateFormatOf(n.Args[1]) + ")"
}

// timeFormat formats a time, or the difference of two.
func (p *printer) timeFormat(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	return "strftime(TIMESTAMP '2000-01-01 00:00:00' + CAST(" + p.expr(n.Args[0]) + " AS INTERVAL), " + dateFormatOf(n.Args[1]) + ")"
}

// strToDate is a DATE if the format has no time.
func (p *printer) strToDate(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 2 {
		return ""
	}
	parsed := "try_strptime(" + p.arg(text, n.Args[0]) + ", " + dateFormatOf(n.Args[1]) + ")"
	if isDateOnly(n.Args[1]) {
		return cast(parsed, "DATE")
	}
	return parsed
}

// isDateOnly reports whether a format has no time.
func isDateOnly(format tidb.ExprNode) bool {
	text, _ := stringLiteral(format)
	for i := 0; i+1 < len(text); i++ {
		if text[i] != '%' {
			continue
		}
		if i++; strings.IndexByte("fHhIiklprSsT", text[i]) >= 0 {
			return false
		}
	}
	return !strings.Contains(text, "HH:mm:ss")
}

// fromUnixtime is the time in the zone after so many seconds, perhaps with
// micros.
func (p *printer) fromUnixtime(n *tidb.FuncCallExpr) string {
	if len(n.Args) < 1 || len(n.Args) > 2 {
		return ""
	}
	at := p.since1970(p.arg(double, n.Args[0]), 1_000_000)
	if len(n.Args) == 1 {
		return at
	}
	return "strftime(" + at + ", " + dateFormatOf(n.Args[1]) + ")"
}

// since1970 prints the time in the zone after a number of units, each of so
// many microseconds.
func (p *printer) since1970(number string, micros int) string {
	return toZone(fmt.Sprintf("make_timestamp(TRY_CAST(round(%s * CAST(%d AS BIGINT)) AS BIGINT))", number, micros), p.zone())
}

// unixTimestamp counts the seconds from 1970 to a time in the zone, or to now.
func (p *printer) unixTimestamp(n *tidb.FuncCallExpr) string {
	var at string
	switch len(n.Args) {
	case 0:
		return value(p.session.Now.Unix())
	case 1:
		at = p.arg(datetime, n.Args[0])
	case 2:
		at = "try_strptime(" + p.arg(text, n.Args[0]) + ", " + dateFormatOf(n.Args[1]) + ")"
	default:
		return ""
	}
	return "CAST(floor(epoch(" + fromZone(at, p.zone()) + ")) AS BIGINT)"
}

// moment prints a time with the digits of the second that a call asks for.
func moment(n *tidb.FuncCallExpr, kind, layout string, t time.Time) string {
	digits := int64(0)
	if len(n.Args) == 1 {
		digits, _ = literalInt(n.Args[0]).(int64)
	}
	if digits < 0 || digits > 6 {
		unsupported("more than 6 digits of the second")
	}
	if digits > 0 {
		layout += "." + strings.Repeat("0", int(digits))
	}
	return kind + " " + duckdb.QuoteString(t.Format(layout))
}

func (p *printer) now(n *tidb.FuncCallExpr) string {
	return moment(n, "TIMESTAMP", time.DateTime, p.session.Now)
}

func (p *printer) utcNow(n *tidb.FuncCallExpr) string {
	return moment(n, "TIMESTAMP", time.DateTime, p.session.Now.UTC())
}

func (p *printer) today(*tidb.FuncCallExpr) string {
	return "DATE " + duckdb.QuoteString(p.session.Now.Format(time.DateOnly))
}

func (p *printer) utcToday(*tidb.FuncCallExpr) string {
	return "DATE " + duckdb.QuoteString(p.session.Now.UTC().Format(time.DateOnly))
}

func (p *printer) timeOfDay(n *tidb.FuncCallExpr) string {
	return moment(n, "TIME", time.TimeOnly, p.session.Now)
}

func (p *printer) utcTimeOfDay(n *tidb.FuncCallExpr) string {
	return moment(n, "TIME", time.TimeOnly, p.session.Now.UTC())
}

// units are the functions that make an interval of a number.
var units = map[tidb.TimeUnitType]string{
	tidb.TimeUnitMicrosecond: "to_microseconds", tidb.TimeUnitSecond: "to_seconds", tidb.TimeUnitMinute: "to_minutes", tidb.TimeUnitHour: "to_hours",
	tidb.TimeUnitDay: "to_days", tidb.TimeUnitWeek: "to_weeks", tidb.TimeUnitMonth: "to_months", tidb.TimeUnitQuarter: "to_quarters", tidb.TimeUnitYear: "to_years",
}

// interval prints INTERVAL expression unit.
func (p *printer) interval(amount tidb.ExprNode, unit tidb.TimeUnitType) string {
	function, ok := units[unit]
	if !ok {
		unsupported("INTERVAL … %s", unit)
	}
	kind, target := integer, "BIGINT"
	switch unit {
	case tidb.TimeUnitSecond:
		kind, target = double, "DOUBLE"
	case tidb.TimeUnitDay, tidb.TimeUnitWeek, tidb.TimeUnitMonth, tidb.TimeUnitQuarter, tidb.TimeUnitYear:
		target = "INTEGER"
	}
	return function + "(" + cast(p.arg(kind, amount), target) + ")"
}

func (p *printer) dateAdd(n *tidb.FuncCallExpr) string { return p.shift(n, "+") }

func (p *printer) dateSub(n *tidb.FuncCallExpr) string { return p.shift(n, "-") }

// shift prints a date with an interval added or taken away. As in MySQL, a
// date stays one if the unit is days or more.
func (p *printer) shift(n *tidb.FuncCallExpr, sign string) string {
	unit, ok := unitOf(n, 3, 2)
	if !ok {
		return ""
	}
	shifted := "(" + p.arg(datetime, n.Args[0]) + " " + sign + " " + p.interval(n.Args[1], unit) + ")"
	if p.isDate(n.Args[0]) && wholeDays(unit) {
		return "CAST(" + shifted + " AS DATE)"
	}
	return shifted
}

// unitOf returns the unit that is the argument at index i of count.
func unitOf(n *tidb.FuncCallExpr, count, i int) (tidb.TimeUnitType, bool) {
	if len(n.Args) != count {
		return tidb.TimeUnitInvalid, false
	}
	unit, ok := n.Args[i].(*tidb.TimeUnitExpr)
	if !ok {
		return tidb.TimeUnitInvalid, false
	}
	return unit.Unit, true
}

func wholeDays(unit tidb.TimeUnitType) bool {
	switch unit {
	case tidb.TimeUnitDay, tidb.TimeUnitWeek, tidb.TimeUnitMonth, tidb.TimeUnitQuarter, tidb.TimeUnitYear:
		return true
	}
	return false
}

// isDate reports whether an expression is a date by its form. What columns are
// is not known in a query.
func (p *printer) isDate(node tidb.ExprNode) bool {
	switch n := node.(type) {
	case *tidb.FuncCallExpr:
		switch n.FnName.L {
		case "curdate", "current_date", "utc_date", "date", "last_day", "makedate", "from_days":
			return true
		case "date_add", "date_sub", "adddate", "subdate":
			unit, ok := unitOf(n, 3, 2)
			return ok && p.isDate(n.Args[0]) && wholeDays(unit)
		}
	case *literals.ValueExpr:
		s, ok := stringLiteral(n)
		return ok && len(s) == len(time.DateOnly)
	}
	return p.scope != nil && p.kind(node) == date
}

func (p *printer) timestampAdd(n *tidb.FuncCallExpr) string {
	unit, ok := unitOf(n, 3, 0)
	if !ok {
		return ""
	}
	return "(" + p.arg(datetime, n.Args[2]) + " + " + p.interval(n.Args[1], unit) + ")"
}

// timestampDiff counts whole units, as DuckDB's date_sub does.
func (p *printer) timestampDiff(n *tidb.FuncCallExpr) string {
	unit, ok := unitOf(n, 3, 0)
	if !ok {
		return ""
	}
	if _, ok := units[unit]; !ok {
		unsupported("TIMESTAMPDIFF of %s", unit)
	}
	return "date_sub(" + duckdb.QuoteString(strings.ToLower(unit.String())) + ", " + p.arg(datetime, n.Args[1]) + ", " + p.arg(datetime, n.Args[2]) + ")"
}

func (p *printer) extract(n *tidb.FuncCallExpr) string {
	unit, ok := unitOf(n, 2, 0)
	if !ok {
		return ""
	}
	if _, ok := units[unit]; !ok {
		unsupported("EXTRACT of %s", unit)
	}
	return "date_part(" + duckdb.QuoteString(strings.ToLower(unit.String())) + ", " + p.arg(datetime, n.Args[1]) + ")"
}

// convertZone prints CONVERT_TZ with known zones: names, or offsets, which
// DuckDB does not know.
func (p *printer) convertZone(n *tidb.FuncCallExpr) string {
	if len(n.Args) != 3 {
		return ""
	}
	moved := fromZone(p.arg(datetime, n.Args[0]), p.zoneOf(n.Args[1]))
	return toZone(moved, p.zoneOf(n.Args[2]))
}

// zone is a time zone: a name that DuckDB knows, or else seconds east of UTC.
type zone struct {
	name    string
	seconds int
}

// zone is the session's or the job's.
func (p *printer) zone() zone { return readZone(p.session.Zone) }

// readZone reads a time zone in MySQL's spelling.
func readZone(name string) zone {
	location, err := timezone.Load(name)
	if err != nil {
		unsupported("the %s", err)
	}
	name = location.String()
	switch {
	case name == "UTC":
		return zone{}
	case name[0] == '+' || name[0] == '-':
		_, seconds := time.Time{}.In(location).Zone()
		return zone{seconds: seconds}
	}
	return zone{name: name}
}

// fromZone prints the UTC of a time in a zone.
func fromZone(expr string, z zone) string {
	switch {
	case z.name != "":
		return "timezone('UTC', timezone(" + duckdb.QuoteString(z.name) + ", " + expr + "))"
	case z.seconds != 0:
		return fmt.Sprintf("(%s - to_seconds(%d))", expr, z.seconds)
	}
	return expr
}

// toZone prints the time in a zone of a UTC.
func toZone(expr string, z zone) string {
	switch {
	case z.name != "":
		return "timezone(" + duckdb.QuoteString(z.name) + ", timezone('UTC', " + expr + "))"
	case z.seconds != 0:
		return fmt.Sprintf("(%s + to_seconds(%d))", expr, z.seconds)
	}
	return expr
}

func (p *printer) zoneOf(node tidb.ExprNode) zone {
	name, ok := stringLiteral(node)
	if variable, is := node.(*tidb.VariableExpr); is {
		name, ok = p.variableValue(variable).(string)
	}
	if !ok {
		unsupported("a time zone that is neither a literal nor a variable")
	}
	return readZone(name)
}
