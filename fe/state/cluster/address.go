package cluster

import (
	"fmt"
	"strings"
)

// Address is host:port as it is written in statements and dialled: an IPv6 host
// stands in brackets, as net.JoinHostPort has it, which is not for pure packages.
func Address(host string, port uint32) string {
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	return fmt.Sprintf("%s:%d", host, port)
}
