package clientprops

import (
	"slices"
	"strings"
)

// class is what becomes of a property.
type class string

const (
	used      class = "carried out"
	noMeaning class = "no meaning here"
	refused   class = "refused"
)

// setter takes a value, which is not empty, into the settings.
type setter func(s *settings, key, value string) error

// A property is one row of the table.
type property struct {
	name   string // without the prefix
	class  class
	says   string   // what it does, why it means nothing, or what to use instead
	values []string // the only ones, in small letters; empty for any
	set    setter   // nil where nothing is to be done here

	secret    bool // its value is never shown
	reference bool // it may be ${env:NAME} or ${file:PATH}
	file      bool // it may be FILE:name
}

// choices are the values, for people.
func (p property) choices() string {
	if len(p.values) == 1 {
		return "only " + p.values[0] + " is"
	}
	return "one of " + strings.Join(p.values, ", ") + " is wanted"
}

// known finds a property by its name.
var known = func() map[string]property {
	byName := make(map[string]property, len(properties))
	for _, p := range properties {
		byName[p.name] = p
	}
	return byName
}()

// properties are all that are known, in the order of the documentation.
var properties = slices.Concat(
	[]property{
		{name: "security.protocol", class: used, set: setProtocol, values: []string{"plaintext", "ssl", "sasl_plaintext", "sasl_ssl"},
			says: "how brokers are spoken to; plaintext by default"},
		{name: "ssl.ca.location", class: used, set: setCALocation, file: true,
			says: "the authorities that brokers' certificates must come from, as PEM; the system's by default or with `probe`"},
		{name: "ssl.ca.pem", class: used, set: inline(caText), reference: true, says: "the same, written out"},
		{name: "ssl.certificate.location", class: used, set: location(certText), file: true,
			says: "the client's certificate and those between it and its authority, as PEM"},
		{name: "ssl.certificate.pem", class: used, set: inline(certText), reference: true, says: "the same, written out"},
		{name: "ssl.key.location", class: used, set: location(keyText), file: true, says: "the client's private key, as PEM"},
		{name: "ssl.key.pem", class: used, set: inline(keyText), reference: true, secret: true, says: "the same, written out"},
		{name: "ssl.key.password", class: used, set: setKeyPassword, reference: true, secret: true,
			says: "opens the private key if it is encrypted (PKCS #8 with PBES2, as `openssl pkcs8 -topk8` writes it)"},
		{name: "ssl.endpoint.identification.algorithm", class: used, set: setIdentification, values: []string{"https", "none"},
			says: "https, the default: a broker's certificate must be for its host; none: for any host"},
		{name: "enable.ssl.certificate.verification", class: used, set: setVerification, values: []string{"true", "false"},
			says: "false: any certificate is taken, so that anybody can pose as the broker"},
		{name: "sasl.mechanism", class: used, set: setMechanism, values: mechanisms, says: "how the client says who it is"},
		{name: "sasl.mechanisms", class: used, set: setMechanism, values: mechanisms, says: "librdkafka's other name of it"},
		{name: "sasl.username", class: used, set: credential(username), reference: true, says: "for PLAIN and SCRAM"},
		{name: "sasl.password", class: used, set: credential(password), reference: true, secret: true, says: "for PLAIN and SCRAM"},
		{name: "sasl.oauthbearer.token", class: used, set: credential(token), reference: true, secret: true,
			says: "ours: the token for OAUTHBEARER"},
		{name: "enable.sasl.oauthbearer.unsecure.jwt", class: used, set: setUnsecured, values: []string{"true", "false"},
			says: "true: a token without a signature is made from sasl.oauthbearer.config, for brokers that check none"},
		{name: "sasl.oauthbearer.config", class: used, set: setClaims,
			says: "for that token: `principal=NAME`, and `principalClaimName`, `scope`, `scopeClaimName`, `lifeSeconds`, `extension_NAME`, with blanks between"},
		{name: "sasl.oauthbearer.method", class: used, values: []string{"default"}, says: "tokens are given, not fetched"},
		{name: ClientID, class: used, set: setClientID, says: "the client's name in the broker's logs, quotas and descriptions of groups"},
		{name: GroupID, class: used, says: "the share group's id; in classic mode, where Kafka keeps no offsets, only a name"},
		{name: IsolationLevel, class: used, values: []string{"read_committed", readUncommitted},
			says: "read_committed, the default, leaves out records of open and aborted transactions"},
		{name: DefaultOffsets, class: used, says: "where the job begins: OFFSET_BEGINNING, OFFSET_END or a time"},
		{name: "broker.address.family", class: used, set: setFamily, values: []string{"any", "v4", "v6"}, says: "the addresses that brokers are reached at"},
		{name: "socket.timeout.ms", class: used, set: setTimeout, says: "how long a request may take beyond its own limit; 10000 by default and at least, 900000 at most"},
		{name: "request.timeout.ms", class: used, set: setTimeout, says: "Java's name of it"},
		{name: "socket.connection.setup.timeout.ms", class: used, set: setConnect, says: "how long connecting may take, TLS included; 1000 to 300000, 10000 by default"},
	},
	without("requests are made as the job's limits say, one at a time, so that nothing is fetched before it can be taken",
		"fetch.wait.max.ms", "fetch.max.wait.ms", "fetch.min.bytes", "fetch.max.bytes", "fetch.message.max.bytes", "max.partition.fetch.bytes",
		"fetch.error.backoff.ms", "fetch.queue.backoff.ms", "queued.min.messages", "queued.max.messages.kbytes", "max.poll.records",
		"max.in.flight.requests.per.connection"),
	without("responses of up to 256 MiB are read", "receive.message.max.bytes"),
	without("the broker takes back what a share group's member holds when its connection ends, so idle ones are kept", "connections.max.idle.ms"),
	without("records are read from leaders", "client.rack"),
	without("topic and brokers are looked at each second and whenever a broker says that something moved",
		"metadata.max.age.ms", "topic.metadata.refresh.interval.ms", "topic.metadata.refresh.fast.interval.ms",
		"topic.metadata.refresh.fast.cnt", "topic.metadata.refresh.sparse", "topic.metadata.propagation.max.ms", "metadata.recovery.strategy",
		"metadata.recovery.rebootstrap.trigger.ms", "broker.address.ttl"),
	without("failures are tried again without end, after pauses of Shoal's own",
		"reconnect.backoff.ms", "reconnect.backoff.max.ms", "reconnect.backoff.jitter.ms", "retry.backoff.ms", "retry.backoff.max.ms", "socket.max.fails"),
	without("connections are kept alive, send at once, and have the system's buffers",
		"socket.keepalive.enable", "socket.nagle.disable", "socket.send.buffer.bytes", "socket.receive.buffer.bytes", "socket.blocking.max.ms"),
	without("Shoal joins no consumer group: partitions are divided by the frontend, and progress is in the delivery ledger",
		"group.instance.id", "group.protocol", "group.protocol.type", "group.remote.assignor", "partition.assignment.strategy", "session.timeout.ms",
		"heartbeat.interval.ms", "max.poll.interval.ms", "coordinator.query.interval.ms", "enable.auto.commit", "auto.commit.interval.ms",
		"enable.auto.offset.store", "offset.store.method"),
	without("the end of a partition is known from each response", "enable.partition.eof"),
	without("checksums are always compared", "check.crcs"),
	without("a broker is always asked for its versions, which any since 0.10 tells",
		"broker.version.fallback", "api.version.fallback.ms", "api.version.request.timeout.ms"),
	[]property{{name: "api.version.request", class: noMeaning, values: []string{"true"}, says: "as above"}},
	without("processes have logs and figures of their own", "debug", "log_level", "log.queue", "log.thread.name", "log.connection.close", "statistics.interval.ms"),
	without("settings of producers", "message.max.bytes", "message.copy.max.bytes"),
	[]property{
		{name: "allow.auto.create.topics", class: noMeaning, values: []string{"false"}, says: "Shoal creates no topic"},
		{name: "client.dns.lookup", class: noMeaning, values: []string{"use_all_dns_ips"}, says: "all addresses of a name are tried"},
	},
	instead("Kerberos is not supported; PLAIN, SCRAM-SHA-256, SCRAM-SHA-512 and OAUTHBEARER are",
		"sasl.kerberos.service.name", "sasl.kerberos.principal", "sasl.kerberos.keytab", "sasl.kerberos.kinit.cmd", "sasl.kerberos.min.time.before.relogin"),
	instead("tokens are not fetched; give one by property.sasl.oauthbearer.token, for one that changes as ${file:PATH}",
		"sasl.oauthbearer.client.id", "sasl.oauthbearer.client.secret", "sasl.oauthbearer.scope", "sasl.oauthbearer.extensions",
		"sasl.oauthbearer.token.endpoint.url", "sasl.login.callback.handler.class", "sasl.client.callback.handler.class"),
	instead("this is Java's; give property.sasl.username and property.sasl.password", "sasl.jaas.config"),
	instead("this is Java's; give property.ssl.ca.location, in PEM (keytool -exportcert -rfc)",
		"ssl.truststore.location", "ssl.truststore.password", "ssl.truststore.type", "ssl.truststore.certificates"),
	instead("give property.ssl.certificate.location and property.ssl.key.location, in PEM (openssl pkcs12)",
		"ssl.keystore.location", "ssl.keystore.password", "ssl.keystore.type", "ssl.keystore.key", "ssl.keystore.certificate.chain"),
	instead("TLS 1.2 and 1.3 with Go's ciphers are spoken",
		"ssl.cipher.suites", "ssl.curves.list", "ssl.sigalgs.list", "ssl.protocol", "ssl.enabled.protocols", "ssl.provider", "ssl.providers", "ssl.engine.location"),
	instead("certificates are not looked up in lists of revoked ones", "ssl.crl.location"),
	instead("give kafka_broker_list", "bootstrap.servers", "metadata.broker.list"),
	instead("property.kafka_default_offsets says where the job begins; the job property out_of_range what becomes of records that are gone before they were read",
		"auto.offset.reset"),
	instead("the job property format says what messages hold", "key.deserializer", "value.deserializer"),
	instead("nothing is loaded into the processes", "plugin.library.paths"),
)

var mechanisms = []string{"plain", "scram-sha-256", "scram-sha-512", "oauthbearer"}

// without are names that have no meaning here and do no harm.
func without(why string, names ...string) []property { return rows(noMeaning, why, names) }

// instead are names that are refused, with what to do instead.
func instead(what string, names ...string) []property { return rows(refused, what, names) }

func rows(class class, says string, names []string) []property {
	out := make([]property, len(names))
	for i, name := range names {
		out[i] = property{name: name, class: class, says: says}
	}
	return out
}
