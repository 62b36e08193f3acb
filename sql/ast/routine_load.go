package ast

import "strings"

// MergeType is the WITH clause of CREATE ROUTINE LOAD.
type MergeType string

// The merge types. Nothing written is NoMerge, which means APPEND.
const (
	NoMerge MergeType = ""
	Append  MergeType = "APPEND"
	Delete  MergeType = "DELETE"
	Merge   MergeType = "MERGE"
)

// CreateRoutineLoad is CREATE ROUTINE LOAD. An empty Table means a multi-table
// job.
type CreateRoutineLoad struct {
	Job        Name
	Table      string
	Merge      MergeType
	Load       LoadProperties
	Properties Properties
	Source     DataSource
	Comment    string
}

// LoadProperties are the clauses that say how rows are read. Absent ones are
// nil or empty; each was given at most once.
type LoadProperties struct {
	ColumnsTerminatedBy *string
	Columns             []LoadColumn
	PrecedingFilter     *Expr
	Where               *Expr
	DeleteOn            *Expr
	OrderBy             string
	Partitions          *Partitions
}

// Empty tells whether no clause was given.
func (l *LoadProperties) Empty() bool { return len(l.clauses()) == 0 }

// LoadColumn is an entry of COLUMNS: a source field, or a derived column if
// there is an expression.
type LoadColumn struct {
	Name string
	Expr *Expr
}

// Partitions is PARTITION(S) with names.
type Partitions struct {
	Temporary bool
	Names     []string
}

// DataSource is FROM type (properties).
type DataSource struct {
	Type       string
	Properties Properties
}

// AlterRoutineLoad is ALTER ROUTINE LOAD. Source is nil if no FROM was given.
type AlterRoutineLoad struct {
	Job         Name
	TargetTable string
	Load        LoadProperties
	Properties  Properties
	Source      *DataSource
}

// PauseRoutineLoad is PAUSE ROUTINE LOAD FOR a job, or PAUSE ALL.
type PauseRoutineLoad struct {
	Job Name
	All bool
}

// ResumeRoutineLoad is RESUME ROUTINE LOAD FOR a job, or RESUME ALL.
type ResumeRoutineLoad struct {
	Job Name
	All bool
}

// StopRoutineLoad is STOP ROUTINE LOAD FOR a job.
type StopRoutineLoad struct{ Job Name }

// ShowRoutineLoad is SHOW [ALL] ROUTINE LOAD; All includes final jobs. Job is
// nil without FOR. LIKE is about names.
type ShowRoutineLoad struct {
	All    bool
	Job    *Name
	Filter Filter
}

// ShowRoutineLoadTask is SHOW ROUTINE LOAD TASK WHERE JobName = a name.
type ShowRoutineLoadTask struct{ Job Name }

// ShowCreateRoutineLoad is SHOW [ALL] CREATE ROUTINE LOAD FOR a job.
type ShowCreateRoutineLoad struct {
	All bool
	Job Name
}

// ShowRoutineLoadLedger is SHOW ROUTINE LOAD LEDGER FOR a job.
type ShowRoutineLoadLedger struct{ Job Name }

// CheckRoutineLoadLedger is ADMIN CHECK ROUTINE LOAD LEDGER FOR a job.
type CheckRoutineLoadLedger struct{ Job Name }

// ShowLoadWarnings is SHOW LOAD WARNINGS: ON an URL, or WHERE all conditions
// hold. Limit is -1 without a LIMIT.
type ShowLoadWarnings struct {
	URL    string
	DB     string
	Where  []Equality
	Offset int
	Limit  int
}

// Equality is column = literal.
type Equality struct{ Column, Value string }

// Admin is any other ADMIN statement; Text is what follows the word.
type Admin struct{ Text string }

func (*CreateRoutineLoad) stmt()      {}
func (*AlterRoutineLoad) stmt()       {}
func (*PauseRoutineLoad) stmt()       {}
func (*ResumeRoutineLoad) stmt()      {}
func (*StopRoutineLoad) stmt()        {}
func (*ShowRoutineLoad) stmt()        {}
func (*ShowRoutineLoadTask) stmt()    {}
func (*ShowCreateRoutineLoad) stmt()  {}
func (*ShowRoutineLoadLedger) stmt()  {}
func (*CheckRoutineLoadLedger) stmt() {}
func (*ShowLoadWarnings) stmt()       {}
func (*Admin) stmt()                  {}

// String returns the statement that creates the same job, over several lines,
// every name and value quoted.
func (c *CreateRoutineLoad) String() string {
	var b strings.Builder
	b.WriteString("CREATE ROUTINE LOAD " + c.Job.String())
	if c.Table != "" {
		b.WriteString(" ON " + QuoteName(c.Table))
	}
	if c.Merge != NoMerge {
		b.WriteString("\nWITH " + string(c.Merge))
	}
	if clauses := c.Load.clauses(); len(clauses) > 0 {
		b.WriteString("\n" + strings.Join(clauses, ",\n"))
	}
	if len(c.Properties) > 0 {
		b.WriteString("\nPROPERTIES\n" + c.Properties.list())
	}
	source := c.Source.Type
	if source != "KAFKA" {
		source = QuoteName(source)
	}
	b.WriteString("\nFROM " + source + "\n" + c.Source.Properties.list())
	if c.Comment != "" {
		b.WriteString("\nCOMMENT " + QuoteString(c.Comment))
	}
	return b.String()
}

// list returns the pairs in parentheses, one a line.
func (ps Properties) list() string {
	lines := make([]string, len(ps))
	for i, p := range ps {
		lines[i] = QuoteString(p.Key) + " = " + QuoteString(p.Value)
	}
	return "(\n" + strings.Join(lines, ",\n") + "\n)"
}

// clauses returns the given clauses in Doris's order.
func (l *LoadProperties) clauses() []string {
	var out []string
	if l.ColumnsTerminatedBy != nil {
		out = append(out, "COLUMNS TERMINATED BY "+QuoteString(*l.ColumnsTerminatedBy))
	}
	if len(l.Columns) > 0 {
		columns := make([]string, len(l.Columns))
		for i, c := range l.Columns {
			columns[i] = QuoteName(c.Name)
			if c.Expr != nil {
				columns[i] += " = " + c.Expr.Text
			}
		}
		out = append(out, "COLUMNS ("+strings.Join(columns, ", ")+")")
	}
	if l.Where != nil {
		out = append(out, "WHERE "+l.Where.Text)
	}
	if l.Partitions != nil {
		out = append(out, l.Partitions.String())
	}
	if l.DeleteOn != nil {
		out = append(out, "DELETE ON "+l.DeleteOn.Text)
	}
	if l.OrderBy != "" {
		out = append(out, "ORDER BY "+QuoteName(l.OrderBy))
	}
	if l.PrecedingFilter != nil {
		out = append(out, "PRECEDING FILTER "+l.PrecedingFilter.Text)
	}
	return out
}

// String returns the clause.
func (p *Partitions) String() string {
	names := make([]string, len(p.Names))
	for i, n := range p.Names {
		names[i] = QuoteName(n)
	}
	clause := "PARTITION (" + strings.Join(names, ", ") + ")"
	if p.Temporary {
		return "TEMPORARY " + clause
	}
	return clause
}
