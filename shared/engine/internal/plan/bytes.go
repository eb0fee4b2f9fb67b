package plan

import (
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/engine/internal/decide"
)

// What things take in memory besides their texts. Clients write these: names of 1,024 bytes, ids of 1,500.
const (
	bytesOfItem  = 400
	bytesOfEntry = 60
	maxBytes     = 1 << 30 // of a plan, with however much memory
)

// mostBytes returns how much a plan may hold: half of the process's memory limit. The rest is for what is read meanwhile, and for
// what the garbage collector has not been through.
func mostBytes() int { return int(min(config.MemoryLimit()/2, maxBytes)) }

// full reports whether the plan holds as much as it may.
func (p *Planner) full() bool { return p.bytes >= p.options.Bytes }

// bytesOf returns how many bytes an item takes.
func bytesOf(i *decide.Item) int {
	n := bytesOfItem + len(i.Target) + len(i.Reason) + len(i.Version) + len(i.Kept)
	for what := range i.With {
		n += bytesOfEntry + len(what)
	}
	if o := i.Object; o != nil {
		n += len(o.Name)
		for _, ref := range o.Absent {
			n += bytesOfEntry + len(ref.ID)
		}
	}
	return n
}
