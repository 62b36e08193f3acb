package testkafka

// Dir shows the folder of a broker to the package's own tests.
func Dir(b *Broker) string { return b.dir }

// TryStart starts a broker that need not start.
func TryStart(options ...Option) (*Broker, error) { return start(options) }
