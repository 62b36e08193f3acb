package wire

// capability is a set of the protocol's capability bits.
type capability uint32

const (
	capLongPassword  capability = 1 << 0
	capFoundRows     capability = 1 << 1
	capLongFlag      capability = 1 << 2
	capConnectWithDB capability = 1 << 3
	capLocalFiles    capability = 1 << 7
	capProtocol41    capability = 1 << 9
	capTransactions  capability = 1 << 13
	capSecureConn    capability = 1 << 15
	capPluginAuth    capability = 1 << 19
	capConnectAttrs  capability = 1 << 20
	capPluginLenEnc  capability = 1 << 21
	capDeprecateEOF  capability = 1 << 24
)

// offered is what the greeting offers. LONG_PASSWORD tells MariaDB's drivers
// that this is not MariaDB, TRANSACTIONS tells ODBC that COMMIT is understood,
// and without DEPRECATE_EOF Connector/J 9.5 reads no rows of prepared
// statements.
const offered = capLongPassword | capFoundRows | capLongFlag | capConnectWithDB | capLocalFiles |
	capProtocol41 | capTransactions | capSecureConn | capPluginAuth | capConnectAttrs |
	capPluginLenEnc | capDeprecateEOF

func (c capability) has(bit capability) bool { return c&bit != 0 }

// Status bits of OK and EOF packets, beside the session's.
const (
	statusCursorExists uint16 = 0x0040
	statusLastRowSent  uint16 = 0x0080
)

// Commands, by the first byte of a command packet.
const (
	comQuit            = 0x01
	comInitDB          = 0x02
	comQuery           = 0x03
	comFieldList       = 0x04
	comStatistics      = 0x09
	comProcessKill     = 0x0c
	comPing            = 0x0e
	comChangeUser      = 0x11
	comStmtPrepare     = 0x16
	comStmtExecute     = 0x17
	comStmtSendLong    = 0x18
	comStmtClose       = 0x19
	comStmtReset       = 0x1a
	comSetOption       = 0x1b
	comStmtFetch       = 0x1c
	comResetConnection = 0x1f
)
