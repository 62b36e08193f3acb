package parse

import (
	"strings"

	"shoal/sql/ast"
)

// alterSystem parses what follows ALTER SYSTEM: who belongs to the cluster.
func (p *parser) alterSystem() ast.Stmt {
	switch {
	case p.sees("ADD", "FOLLOWER"), p.sees("ADD", "OBSERVER"), p.sees("DROP", "FOLLOWER"), p.sees("DROP", "OBSERVER"):
		drop := p.expectOne("ADD", "DROP") == "DROP"
		role := ast.FrontendRole(p.expectOne("FOLLOWER", "OBSERVER"))
		return &ast.AlterFrontend{Drop: drop, Role: role, Address: p.stringLiteral(`the frontend's "host:edit_log_port"`)}
	case p.sees("ADD", "BACKEND"), p.sees("DROP", "BACKEND"), p.sees("DROPP", "BACKEND"), p.sees("DECOMMISSION", "BACKEND"):
		action := p.expectOne("ADD", "DROPP", "DROP", "DECOMMISSION")
		return p.alterBackends(ast.BackendAction(action))
	}
	verb, what := p.peek(), p.ahead(1)
	if verb.Kind != Word || what.Kind != Word {
		p.fail("expected ADD or DROP of a FOLLOWER or OBSERVER, or ADD, DROP, DROPP or DECOMMISSION of BACKENDs,")
	}
	return p.unsupportedAs("ALTER SYSTEM " + strings.ToUpper(verb.Value+" "+what.Value))
}

// cancelDecommission parses CANCEL DECOMMISSION BACKEND.
func (p *parser) cancelDecommission() ast.Stmt {
	p.expect("CANCEL", "DECOMMISSION")
	return p.alterBackends(ast.CancelDecommission)
}

func (p *parser) alterBackends(action ast.BackendAction) ast.Stmt {
	p.expect("BACKEND")
	a := &ast.AlterBackends{Action: action}
	for {
		a.Backends = append(a.Backends, p.stringLiteral(`a backend's "host:port" or its id`))
		if !p.acceptSymbol(",") {
			break
		}
	}
	if p.sees("PROPERTIES") {
		return p.unsupportedAs("ALTER SYSTEM " + string(action) + " BACKEND … PROPERTIES")
	}
	return a
}
