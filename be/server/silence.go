package server

import (
	"context"
	"time"

	"shoal/be/executor"
)

// silenceLimit is how long no leader speaks to a backend before it asks why.
const silenceLimit = 10 * time.Second

// explainSilence says in the log why a backend that no leader speaks to gets
// nothing to do, until ctx ends: it registers again, and one that was dropped is
// refused. It need not be started anew to come back: added again, it is spoken to.
func (s *Server) explainSilence(ctx context.Context, exec *executor.Executor) {
	ticker := time.NewTicker(silenceLimit)
	defer ticker.Stop()
	for told := false; ; {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
		}
		switch silent := exec.Silence() > silenceLimit; {
		case silent && !told:
			if _, err := s.join(ctx); err != nil && ctx.Err() == nil {
				s.cfg.Logger.Warn("no frontend speaks to this backend any more: it gets nothing to do, stop it or add it again", "err", err)
				told = true
			}
		case !silent && told:
			s.cfg.Logger.Info("a frontend speaks to this backend again")
			told = false
		}
	}
}
