package session

import (
	"maps"
	"sync"

	"shoal/fe/literal"
)

// A Server is what the read-only variables say of the frontend.
type Server struct {
	Version          string // what clients take MySQL's version for
	VersionComment   string // product and version, shown by shells
	Hostname         string
	Port             uint16
	MaxConnections   uint32
	MaxAllowedPacket uint32 // bytes of the largest command
}

// DefaultServer reports MySQL 5.7.99, as Doris does: from 8.0 on, Connector/J
// browses by long information_schema queries instead of SHOW.
func DefaultServer() Server {
	return Server{
		Version:          "5.7.99",
		VersionComment:   "Shoal",
		Hostname:         "localhost",
		Port:             9030,
		MaxConnections:   1024,
		MaxAllowedPacket: 64 << 20,
	}
}

// Globals are the GLOBAL variables of a frontend. They live as long as the
// process. All methods are safe for concurrent use.
type Globals struct {
	server Server
	mu     sync.RWMutex
	values map[string]literal.Value
}

// NewGlobals gives every variable its default.
func NewGlobals(server Server) *Globals {
	g := &Globals{server: server, values: make(map[string]literal.Value, len(variables))}
	for name, v := range variables {
		g.values[name] = v.initial
	}
	g.values["version"] = literal.String(server.Version)
	g.values["version_comment"] = literal.String(server.VersionComment)
	g.values["hostname"] = literal.String(server.Hostname)
	g.values["port"] = literal.Int(int64(server.Port))
	g.values["max_connections"] = literal.Int(int64(server.MaxConnections))
	g.values["max_allowed_packet"] = literal.Int(int64(server.MaxAllowedPacket))
	return g
}

// Server is what NewGlobals was given.
func (g *Globals) Server() Server { return g.server }

func (g *Globals) copyValues() map[string]literal.Value {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return maps.Clone(g.values)
}

func (g *Globals) get(name string) literal.Value {
	g.mu.RLock()
	defer g.mu.RUnlock()
	return g.values[name]
}

func (g *Globals) set(name string, v literal.Value) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.values[name] = v
}
