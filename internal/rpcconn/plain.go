package rpcconn

import (
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Plain is an error of a call in words for people: why the other end cannot be
// reached, that it did not answer within limit, or what it said.
func Plain(err error, limit time.Duration) string {
	st := status.Convert(err)
	text := st.Message()
	if _, why, dialed := strings.Cut(text, "connection error: desc = "); dialed {
		why = strings.Trim(why, `"`)
		for _, layer := range []string{"transport: Error while dialing: ", "transport: "} {
			why = strings.TrimPrefix(why, layer)
		}
		// "dial tcp 127.0.0.1:9050: connect: connection refused"
		if _, reason, ok := strings.Cut(why, ": connect: "); ok {
			why = reason
		}
		return "cannot be reached: " + why
	}
	// A call that ended on this side is no status.
	if code := status.FromContextError(err).Code(); st.Code() == codes.DeadlineExceeded || code == codes.DeadlineExceeded {
		return "no answer within " + seconds(limit)
	}
	return text
}

// seconds is a time as "2 s" or "0.5 s".
func seconds(d time.Duration) string {
	return strconv.FormatFloat(d.Seconds(), 'g', -1, 64) + " s"
}
