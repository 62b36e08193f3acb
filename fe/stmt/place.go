package stmt

import (
	"context"
	"reflect"

	"shoal/fe/result"
	"shoal/fe/session"
	"shoal/sql/ast"
)

// A place is where a statement is carried out.
type place uint8

const (
	// here: it needs its session and this frontend only.
	here place = iota
	// fresh: it reads the replicated state, here, once that is as new as all that
	// was answered before.
	fresh
	// shownByLeader and changedByLeader: only the leader knows, or may.
	shownByLeader
	changedByLeader
	// listedHere and listedByLeader are as fresh and shownByLeader, and are answered
	// also while no frontend leads: they tell who is missing.
	listedHere
	listedByLeader
	// byQuery and byList: what it reads decides.
	byQuery
	byList
)

func kind[S any]() reflect.Type { return reflect.TypeFor[*S]() }

// places says of every statement where it is carried out.
var places = map[reflect.Type]place{
	kind[ast.Set]():             here, // its expressions by what they read
	kind[ast.NoOp]():            here,
	kind[ast.Kill]():            here, // connections are of one frontend
	kind[ast.Help]():            here,
	kind[ast.Unsupported]():     here,
	kind[ast.Admin]():           here,
	kind[ast.ShowWarnings]():    here,
	kind[ast.ShowGrants]():      here,
	kind[ast.ShowVariables]():   here,
	kind[ast.ShowStatus]():      here,
	kind[ast.ShowProcesslist](): here,

	kind[ast.Use]():                   fresh,
	kind[ast.ShowDatabases]():         fresh,
	kind[ast.ShowCreateDatabase]():    fresh,
	kind[ast.ShowTables]():            fresh,
	kind[ast.ShowTableStatus]():       fresh,
	kind[ast.ShowColumns]():           fresh,
	kind[ast.ShowIndex]():             fresh,
	kind[ast.ShowCreateTable]():       fresh,
	kind[ast.ShowFiles]():             fresh,
	kind[ast.ShowLoadWarnings]():      fresh,
	kind[ast.ShowCreateRoutineLoad](): fresh,

	kind[ast.ExplainRoutineLoad]():     shownByLeader,
	kind[ast.ShowRoutineLoad]():        shownByLeader,
	kind[ast.ShowRoutineLoadTask]():    shownByLeader,
	kind[ast.ShowRoutineLoadLedger]():  shownByLeader,
	kind[ast.CheckRoutineLoadLedger](): shownByLeader,

	kind[ast.CreateDatabase]():    changedByLeader,
	kind[ast.DropDatabase]():      changedByLeader,
	kind[ast.RenameDatabase]():    changedByLeader,
	kind[ast.CreateTable]():       changedByLeader,
	kind[ast.DropTable]():         changedByLeader,
	kind[ast.AlterTable]():        changedByLeader,
	kind[ast.TruncateTable]():     changedByLeader,
	kind[ast.CreateFile]():        changedByLeader,
	kind[ast.DropFile]():          changedByLeader,
	kind[ast.CreateRoutineLoad](): changedByLeader,
	kind[ast.AlterRoutineLoad]():  changedByLeader,
	kind[ast.PauseRoutineLoad]():  changedByLeader,
	kind[ast.ResumeRoutineLoad](): changedByLeader,
	kind[ast.StopRoutineLoad]():   changedByLeader,
	kind[ast.AlterFrontend]():     changedByLeader,
	kind[ast.AlterBackends]():     changedByLeader,

	kind[ast.Select]():   byQuery,
	kind[ast.Explain]():  byQuery,
	kind[ast.ShowList](): byList,
}

// placeOf is where a statement is carried out.
func (e *Executor) placeOf(s *session.Session, stmt ast.Stmt) place {
	switch stmt := stmt.(type) {
	case *ast.Select:
		return e.placeOfQuery(s, stmt.Text)
	case *ast.Explain:
		return e.placeOfQuery(s, stmt.Text)
	case *ast.ShowList:
		switch stmt.What {
		case ast.Trash:
			return fresh
		case ast.Frontends:
			return listedHere
		case ast.Backends:
			return listedByLeader
		}
		return here
	}
	return places[reflect.TypeOf(stmt)]
}

func (e *Executor) placeOfQuery(s *session.Session, text string) place {
	switch state, leader := e.cfg.Queries.Reads(s, text); {
	case leader:
		return shownByLeader
	case state:
		return fresh
	}
	return here
}

// carryOut carries out a statement, whose text has values in its placeholders,
// where that is to be done.
func (e *Executor) carryOut(ctx context.Context, s *session.Session, stmt ast.Stmt, text string, w result.Writer) error {
	place := e.placeOf(s, stmt)
	if place == listedHere || place == listedByLeader {
		if !e.cfg.Cluster.Led(ctx) {
			return e.listUnled(ctx, s, stmt, w)
		}
	}
	switch place {
	case fresh:
		if err := e.cfg.Cluster.Sync(ctx); err != nil {
			return err
		}
	case shownByLeader, changedByLeader, listedByLeader:
		return e.cfg.Cluster.AtLeader(ctx, s, text, place == changedByLeader, w, func(ctx context.Context, w result.Writer) error {
			return e.run(ctx, s, stmt, w)
		})
	}
	return e.run(ctx, s, stmt, w)
}

// ExecuteHere carries out a statement that another frontend has sent, since this
// one leads. Its session is new.
func (e *Executor) ExecuteHere(ctx context.Context, s *session.Session, text string, w result.Writer) error {
	stmt, _, err := e.read(text, nil)
	if err != nil {
		return err
	}
	s.RowCount = -1
	return e.run(ctx, s, stmt, w)
}
