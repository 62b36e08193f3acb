package sim

import (
	"maps"
	"slices"
	"time"

	"shoal/fe/removal"
)

// cleanEvery is how often files are removed that nobody needs.
const cleanEvery = 10 * time.Second

// clean removes the files that fe/removal finds unneeded by the leader's own
// version of the state, however old that is, and without any time of grace.
func (l *leadership) clean() {
	for !l.s.cfg.KeepFiles {
		l.s.w.sleep(cleanEvery)
		paths := slices.Sorted(maps.Keys(l.s.files))
		verdicts := removal.Judge(l.replica.state, paths)
		l.at(Judged)
		for i, path := range paths {
			if verdicts[i] == removal.Unneeded && l.s.files[path] != nil {
				l.s.w.tell("removes %s", path)
				delete(l.s.files, path)
				l.s.check.stats.add(RemovedFiles)
				l.s.check.settles()
			}
		}
	}
}
