package server

import (
	"context"
	"time"

	"shoal/fe/removal"
	"shoal/fe/state"
	"shoal/internal/warehouse"
)

// removeFiles removes files that nobody needs, for one leadership.
func (s *Server) removeFiles(ctx context.Context) error {
	var uri string
	s.store.View(func(st *state.State) { uri = st.ClusterInfo().GetWarehouse() })
	wh, err := warehouse.Open(uri)
	if err != nil {
		return err
	}
	defer wh.Close()
	removal.New(removal.Config{
		Store: s.store, Warehouse: wh, Frontend: s.identity.FrontendID, Leases: &s.leases, Ask: s.cluster.Ask,
		Grace: s.cfg.TrashExpire, Logger: s.cfg.Logger,
	}, time.Now()).Run(ctx)
	return nil
}
