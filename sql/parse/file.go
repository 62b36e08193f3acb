package parse

import "shoal/sql/ast"

// createFile parses what follows CREATE FILE.
func (p *parser) createFile() ast.Stmt {
	c := &ast.CreateFile{File: p.file()}
	p.expect("PROPERTIES")
	c.Properties = p.properties()
	return c
}

// dropFile parses what follows DROP FILE.
func (p *parser) dropFile() ast.Stmt {
	d := &ast.DropFile{File: p.file()}
	p.expect("PROPERTIES")
	d.Properties = p.properties()
	return d
}

// file takes a file's name in quotes, and perhaps its database.
func (p *parser) file() ast.Name {
	name := p.stringLiteral("a file name")
	return ast.Name{DB: p.fromDatabase(), Name: name}
}
