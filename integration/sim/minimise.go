package sim

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// minimiseRuns bounds how often a universe is played to make it smaller.
const minimiseRuns = 600

// A knob is a size of a universe that may be turned down.
type knob struct {
	name string
	get  func(*Config) float64
	set  func(*Config, float64)
}

var knobs = []knob{
	{"network", func(c *Config) float64 { return c.Network }, func(c *Config, v float64) { c.Network = v }},
	{"weather", func(c *Config) float64 { return c.Weather.Seconds() }, func(c *Config, v float64) { c.Weather = time.Duration(v * float64(time.Second)) }},
	{"records", func(c *Config) float64 { return float64(c.Records) }, func(c *Config, v float64) { c.Records = int(v) }},
	{"observers", func(c *Config) float64 { return float64(c.Observers) }, func(c *Config, v float64) { c.Observers = int(v) }},
	{"backends", func(c *Config) float64 { return float64(c.Backends) }, func(c *Config, v float64) { c.Backends = max(1, int(v)) }},
	{"partitions", func(c *Config) float64 { return float64(c.Partitions) }, func(c *Config, v float64) { c.Partitions = max(1, int(v)) }},
	{"tasks", func(c *Config) float64 { return float64(c.Tasks) }, func(c *Config, v float64) { c.Tasks = max(1, int64(v)) }},
}

// A minimiser makes a universe smaller that violates a property.
type minimiser struct {
	small    Config
	property string // its two letters
	left     int    // runs
}

// minimise turns down a universe that fails as long as it violates the same
// property: fewer faults, a quiet network, fewer machines and records.
func minimise(cfg Config, violation string) Config {
	m := &minimiser{small: cfg, property: violation[:2], left: minimiseRuns}
	for again := true; again && m.left > 0; {
		again = m.turnDown()
		again = m.dropFaults() || again
	}
	return m.small
}

// try takes a smaller universe if it fails as well.
func (m *minimiser) try(cfg Config) bool {
	if m.left == 0 {
		return false
	}
	m.left--
	if !strings.HasPrefix(Run(cfg, false).Violation, m.property) {
		return false
	}
	m.small = cfg
	return true
}

// turnDown turns each knob as far as the failure lasts.
func (m *minimiser) turnDown() (done bool) {
	for _, k := range knobs {
		for _, part := range []float64{0, 0.25, 0.5, 0.75} {
			cfg := m.small
			k.set(&cfg, k.get(&m.small)*part)
			if k.get(&cfg) < k.get(&m.small) && m.try(cfg) {
				done = true
				break
			}
		}
	}
	return done
}

// dropFaults leaves out as many of the things that happen as it can: halves,
// then smaller parts, then single ones.
func (m *minimiser) dropFaults() (done bool) {
	all := m.small.happens()
	for size := max(1, len(all)/2); ; size /= 2 {
		for at := 0; at < len(all); {
			cfg := m.small
			cfg.Only = slices.Delete(slices.Clone(all), at, min(at+size, len(all)))
			if m.try(cfg) {
				all, done = cfg.Only, true
			} else {
				at += size
			}
		}
		if size <= 1 {
			return done
		}
	}
}

// happens are the numbers of what happens in a universe.
func (c *Config) happens() []int {
	nrs := []int{}
	for _, h := range c.plan() {
		if c.Only == nil || slices.Contains(c.Only, h.nr) {
			nrs = append(nrs, h.nr)
		}
	}
	return nrs
}

// trim says what makes c of the universe before, in the form that apply reads.
func trim(before, c Config) string {
	var words []string
	for _, k := range knobs {
		if k.get(&before) != k.get(&c) {
			words = append(words, fmt.Sprintf("%s=%v", k.name, k.get(&c)))
		}
	}
	if c.Only != nil {
		words = append(words, "only="+strings.Trim(strings.ReplaceAll(fmt.Sprint(c.Only), " ", ","), "[]"))
	}
	return strings.Join(words, " ")
}

// apply makes a universe smaller, as trim says.
func apply(c Config, trimmed string) (Config, error) {
	for _, word := range strings.Fields(trimmed) {
		name, value, _ := strings.Cut(word, "=")
		if name == "only" {
			c.Only = []int{}
			for _, nr := range strings.FieldsFunc(value, func(r rune) bool { return r == ',' }) {
				n, err := strconv.Atoi(nr)
				if err != nil {
					return c, fmt.Errorf("only: %w", err)
				}
				c.Only = append(c.Only, n)
			}
			continue
		}
		i := slices.IndexFunc(knobs, func(k knob) bool { return k.name == name })
		v, err := strconv.ParseFloat(value, 64)
		if i < 0 || err != nil {
			return c, fmt.Errorf("%q is not the name of a size and a number", word)
		}
		knobs[i].set(&c, v)
	}
	return c, nil
}
