package loaddef

import (
	"regexp"
	"unicode/utf8"

	"shoal/fe/errno"
)

// jobName is Doris's common name with enable_unicode_name_support, and a dot
// between; letters of some scripts are written with marks.
var jobName = regexp.MustCompile(`^\p{L}[\p{L}\p{M}\p{N}_.-]*$`)

// maxJobName is in characters.
const maxJobName = 64

// CheckName refuses what cannot be a job's name.
func CheckName(name string) error {
	if utf8.RuneCountInString(name) > maxJobName || !jobName.MatchString(name) {
		return errno.New(errno.WrongRoutineLoadName,
			"Incorrect routine load job name '%s': it begins with a letter, and letters, digits, -, _ and . follow, %d characters at most", name, maxJobName)
	}
	return nil
}
