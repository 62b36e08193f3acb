package archtest

// A row of the map: what the production code of a package may import of this module. A pattern is a path below the
// module or a path with /..., which stands for itself and all below it. The first row that fits a package holds for
// it. What never names wins over what may allows.
type row struct {
	packages string
	may      string
	never    string
}

// The map. FE and BE meet only in proto and in the little of sql and internal that both need; within each, arrows
// point down.
var packageMap = []row{
	{packages: "cmd/...", may: "cmd/... fe/server fe/backup be/server internal/... proto/...", never: testOnly},
	{packages: "integration/...", may: "..."},

	{packages: "proto/...", may: "proto/..."},
	{packages: "sql/...", may: "sql/..."},
	{packages: "internal/testkafka/... internal/tests3", may: "internal/testdeps"},
	{packages: "internal/...", may: "internal/... sql/... proto/...", never: testOnly},

	{packages: "fe/errno", may: ""},
	{packages: "fe/state/...", may: "fe/state/... proto/... internal/offsets sql/types"},
	{packages: "fe/raftstore", may: "fe/state/... proto/... internal/nodetls"},
	{packages: "fe/wire", may: "fe/errno fe/literal fe/result fe/session sql/... internal/textrow"},
	{packages: "fe/stmt", may: shared + " fe/...", never: "fe/wire fe/server fe/raftstore fe/rpc " + testOnly},
	{packages: "fe/membership", may: shared + " fe/raftstore fe/state/..."},
	{packages: "fe/server", may: shared + " fe/...", never: testOnly},
	{packages: "fe/...", may: shared + " fe/...", never: "fe/wire fe/stmt fe/server fe/raftstore " + testOnly},

	{packages: "be/source", may: "internal/offsets"},
	{packages: "be/backoff", may: ""},
	{packages: "be/client", may: "internal/clientprops"},
	{packages: "be/share", may: "be/source be/backoff internal/offsets"},
	{packages: "be/probe", may: "be/source internal/offsets"},
	{packages: "be/classic", may: "be/source be/backoff be/probe internal/offsets"},
	{packages: "be/server", may: shared + " be/...", never: testOnly},
	{packages: "be/...", may: shared + " be/...", never: "be/server " + testOnly},
}

const (
	shared   = "sql/... proto/... internal/..."
	testOnly = "integration/... internal/testkafka/... internal/tests3 internal/testdeps internal/archtest"
)

// Who may import what of others: each foreign system has its doors. (Tests may look from outside.)
var doors = []struct{ module, packages string }{
	{"github.com/hashicorp/raft", "fe/raftstore"},
	{"github.com/hashicorp/raft-wal", "fe/raftstore"},
	{"github.com/twmb/franz-go", "fe/kafka be/client be/source be/share be/classic be/probe be/deadletter internal/clientprops internal/testkafka/... cmd/... integration/..."},
	{"github.com/aws/aws-sdk-go-v2", "internal/warehouse/bucket"},
	{"github.com/aws/smithy-go", "internal/warehouse/bucket"},
	{"github.com/duckdb/duckdb-go", "be/pipe"},
	{"github.com/duckdb/duckdb-go-bindings", "internal/engine/native"},
}

// pure packages must give the same answer on every frontend, so they see no clock, chance, machine or network.
var pure = struct{ packages, never string }{
	packages: "fe/state/...",
	never:    "time math/rand/... os/... net/... log/... context",
}
