package declared

import (
	"context"
	"fmt"
	"hash/maphash"
	"path"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/criteria"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// references reads which objects are named by the documents of a rule's gone. If it cannot tell, or has no room, the run does
// nothing: it concludes from absence. What with deletes is looked up by the mentions of shared/cascade, which keep that alone.
type references struct {
	rule.Rule
	most int // how many hashes of names a run may hold
}

// spellings are those of objects that documents may mean, as hashes: if two are alike, one object more is kept.
type spellings struct {
	seed maphash.Seed
	all  map[uint64]bool
}

// What a run holds of names at most: a quarter of the process's memory limit, with so many bytes for each hash.
const (
	bytesOfName  = 40
	maxNameBytes = 256 << 20
)

// mostNames returns how many hashes of names a run may hold.
func mostNames() int {
	return int(min(config.MemoryLimit()/4, maxNameBytes)) / bytesOfName
}

// What stands for all extensions of a name, and for any of a name that was written without one.
const (
	anyExtension  = "\x00"
	leftExtension = "\x01"
)

func (n spellings) put(text string) { n.all[maphash.String(n.seed, text)] = true }

func (n spellings) add(spelling string) {
	ext := path.Ext(spelling)
	n.put(spelling)
	if n.put(strings.TrimSuffix(spelling, ext) + anyExtension); ext == "" {
		n.put(spelling + leftExtension)
	}
}

// has reports whether a document may mean an object, or that whose resized copy it is: the extension puts a copy beside its
// original, or into a folder below that.
func (n spellings) has(name string) bool {
	name = objects.Spelling(name)
	known := func(text string) bool { return n.all[maphash.String(n.seed, text)] }
	if known(name) || known(strings.TrimSuffix(name, path.Ext(name))+leftExtension) {
		return true
	}
	copied := objects.Resized(name)
	if copied == "" {
		return false
	}
	folder, file := path.Split(strings.TrimSuffix(name, copied) + anyExtension)
	for {
		if known(folder + file) {
			return true
		}
		if folder == "" {
			return false
		}
		folder, _ = path.Split(strings.TrimSuffix(folder, "/"))
	}
}

// doubtful says why nobody can tell what documents name.
func doubtful(format string, args ...any) error {
	return &cleanup.LimitError{Limit: "references", Why: fmt.Sprintf(format, args...)}
}

// names reads every document that may name an object. Whatever is doubtful is an error, so that nothing is deleted: a value that
// means no object of the bucket, a field in which no document names one of the folder.
func (c references) names(ctx context.Context, r documents.Reader, run cleanup.Run) (named func(string) bool, err error) {
	n := spellings{maphash.MakeSeed(), map[uint64]bool{}}
	var unclear []string // the first values that mean nobody knows what
	others := 0
	folder := objects.Folders{pattern.Folder(c.Objects)}
	for i, of := range c.Gone {
		if slices.ContainsFunc(c.Gone[:i], func(g rule.Relation) bool { return g.Place("") == of.Place("") }) {
			continue // read already
		}
		var fields []cascade.Objects
		q := of.Place("").Query()
		q.PageSize = PageSize
		for _, g := range c.Gone {
			if g.Place("") == of.Place("") {
				fields = append(fields, cascade.Objects{Field: g.Field, Under: folder})
				q.Select = append(q.Select, rule.Selected(g.Field)...)
			}
		}
		said := map[string]bool{}
		for page, err := range r.Pages(ctx, q, "") {
			if err != nil {
				return nil, err
			}
			for _, d := range page.Documents {
				for _, field := range fields {
					all, here, odd := field.Mentioned(d, run.Config)
					switch {
					case odd != "" && len(unclear) < maxUnclear:
						unclear = append(unclear, d.Path+": "+odd)
					case odd != "":
						others++
					}
					for _, name := range all {
						n.add(name)
					}
					said[field.Field] = said[field.Field] || here
					if len(n.all) > c.most {
						return nil, doubtful("the documents of %s refer to more objects than the function's memory has room for (%d MiB of it, a "+
							"quarter): give the rule more in run.memory, such as 1Gi", of.Place(""), c.most*bytesOfName>>20)
					}
				}
			}
		}
		for _, field := range fields {
			if !said[field.Field] && len(unclear) == 0 {
				return nil, doubtful("no document of %s names an object below %s in %s, so every object would count as unused: correct the "+
					"name in the rule, or take it out of gone", of.Place(""), folder[0], field.Field)
			}
		}
	}
	if others > 0 {
		unclear = append(unclear, fmt.Sprintf("%d others", others))
	}
	if len(unclear) > 0 {
		return nil, doubtful("%s, so nobody knows which objects %s are in use: correct this, or have another field hold what is no "+
			"file of the bucket", criteria.List(unclear, "and"), c.Objects)
	}
	return n.has, nil
}

// maxUnclear is how many values a run names that mean nobody knows what.
const maxUnclear = 5
