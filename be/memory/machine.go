package memory

import (
	"bytes"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
)

// Limit reads a limit as Doris writes mem_limit: a share of the machine's memory,
// or of the control group's where that is less, such as 80%, or bytes with the unit
// K, M or G.
func Limit(text string) (bytes int64, err error) {
	if share, ok := strings.CutSuffix(text, "%"); ok {
		percent, err := strconv.ParseFloat(share, 64)
		if err != nil || !(percent > 0 && percent <= 100) {
			return 0, fmt.Errorf("%q is no share between 0%% and 100%%", text)
		}
		bytes = int64(float64(machine()) * percent / 100)
	} else {
		number, shift := text, 0
		if i := strings.IndexAny("KMG", text[max(0, len(text)-1):]); i >= 0 && text != "" {
			number, shift = text[:len(text)-1], 10*(i+1)
		}
		n, err := strconv.ParseInt(number, 10, 64)
		if err != nil || n < 0 || n > math.MaxInt64>>shift {
			return 0, fmt.Errorf("%q is neither a share such as 60%% nor bytes such as 4G", text)
		}
		bytes = n << shift
	}
	if bytes < Least {
		return 0, fmt.Errorf("%s is %d MiB, and a backend needs %d MiB", text, bytes>>20, Least>>20)
	}
	return bytes, nil
}

// machine is the bytes of memory that there are for this process.
func machine() int64 {
	least := int64(math.MaxInt64)
	if info, err := os.ReadFile("/proc/meminfo"); err == nil {
		var kib int64
		if _, err := fmt.Sscanf(string(info), "MemTotal: %d kB", &kib); err == nil {
			least = kib << 10
		}
	}
	for _, path := range groupLimits() {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		if n, err := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64); err == nil && n > 0 {
			least = min(least, n)
		}
	}
	return least
}

// groupLimits are the files with the limits of the process's control group and
// those around it, of both versions of control groups.
func groupLimits() []string {
	const root = "/sys/fs/cgroup"
	paths := []string{filepath.Join(root, "memory", "memory.limit_in_bytes")}
	groups, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return paths
	}
	for line := range strings.Lines(string(groups)) {
		group, ok := strings.CutPrefix(strings.TrimSpace(line), "0::")
		for ; ok && group != "."; group = filepath.Dir(group) {
			paths = append(paths, filepath.Join(root, group, "memory.max"))
			if group == "/" {
				break
			}
		}
	}
	return paths
}

// SetCollector tells Go's collector how many bytes it may use, unless GOMEMLIMIT
// does.
func SetCollector(bytes int64) {
	if _, given := os.LookupEnv("GOMEMLIMIT"); !given {
		debug.SetMemoryLimit(bytes)
	}
}
