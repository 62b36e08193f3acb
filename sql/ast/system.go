package ast

// FrontendRole is what a frontend is in Doris's words.
type FrontendRole string

// The roles that ALTER SYSTEM can give.
const (
	Follower FrontendRole = "FOLLOWER"
	Observer FrontendRole = "OBSERVER"
)

// AlterFrontend is ALTER SYSTEM ADD or DROP of a frontend. Address is
// "host:edit_log_port" as written.
type AlterFrontend struct {
	Drop    bool
	Role    FrontendRole
	Address string
}

// BackendAction is what ALTER SYSTEM does with backends.
type BackendAction string

// The actions, as they are written.
const (
	AddBackend         BackendAction = "ADD"
	DropBackend        BackendAction = "DROP"
	ForceDropBackend   BackendAction = "DROPP"
	Decommission       BackendAction = "DECOMMISSION"
	CancelDecommission BackendAction = "CANCEL DECOMMISSION"
)

// AlterBackends is ALTER SYSTEM … BACKEND, and CANCEL DECOMMISSION BACKEND.
// Each of Backends is "host:port" or an id, as written; there is one at least.
type AlterBackends struct {
	Action   BackendAction
	Backends []string
}

func (*AlterFrontend) stmt() {}
func (*AlterBackends) stmt() {}
