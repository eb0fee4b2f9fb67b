package restore

import (
	"context"
	"time"

	"github.com/firesweep/firesweep/shared/backends"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
)

// Open opens what a function works on, with the caller's credentials or on the emulators that its settings name. The function
// that is returned closes it.
func Open(ctx context.Context, hooks backends.Hooks, c config.Config, uses []config.Backend, clock func() time.Time,
	jobs map[string]cleanup.Job,
) (p Project, closeAll func() error, err error) {
	o, err := hooks.Open(ctx, c, uses, true)
	if err != nil {
		return p, o.Close, err
	}
	p = Project{Config: c, Clock: clock, Jobs: jobs, DB: o.Documents.Writer(hooks.Writes())}
	if o.Objects != nil {
		p.Bucket = o.Objects.Handle()
	}
	if o.Accounts != nil {
		p.Accounts = new(o.Accounts.Importer())
	}
	return p, o.Close, nil
}
