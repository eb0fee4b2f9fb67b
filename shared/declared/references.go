package declared

import (
	"context"
	"fmt"
	"hash/maphash"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/shared/cascade"
	"github.com/firesweep/firesweep/shared/cleanup"
	"github.com/firesweep/firesweep/shared/documents"
	"github.com/firesweep/firesweep/shared/objects"
	"github.com/firesweep/firesweep/shared/rule"
	"github.com/firesweep/firesweep/shared/rule/pattern"
)

// references reads which objects are named by the documents of a rule's gone.
type references struct{ rule.Rule }

// names are the objects that documents name, as hashes: if two are alike, one object more is kept.
type names struct {
	seed maphash.Seed
	all  map[uint64]bool
}

// resized is what Firebase's extension Resize Images appends to the name of a copy. The copy may have another extension.
var resized = regexp.MustCompile(`_\d+x\d+(\.[^./]*)?$`)

// stem stands for all extensions of a name.
func stem(name string) string { return strings.TrimSuffix(name, path.Ext(name)) + "\x00" }

func (n names) add(name string) {
	n.all[maphash.String(n.seed, name)], n.all[maphash.String(n.seed, stem(name))] = true, true
}

// has reports whether a document names an object, or that whose resized copy it is.
func (n names) has(name string) bool {
	copied := resized.FindString(name)
	return n.all[maphash.String(n.seed, name)] ||
		copied != "" && n.all[maphash.String(n.seed, strings.TrimSuffix(name, copied)+"\x00")]
}

// doubtful says why nobody can tell what documents name.
func doubtful(format string, args ...any) error {
	return &cleanup.LimitError{Limit: "references", Why: fmt.Sprintf(format, args...)}
}

// names reads every document that may name an object. Whatever is doubtful is an error, so that nothing is deleted: a value that
// names no object of the bucket, a field in which no document names one of the folder.
func (c references) names(ctx context.Context, r documents.Reader, run cleanup.Run) (named func(string) bool, err error) {
	n := names{maphash.MakeSeed(), map[uint64]bool{}}
	folder := objects.Folders{pattern.Folder(c.Objects)}
	for i, of := range c.Gone {
		if slices.ContainsFunc(c.Gone[:i], func(g rule.Relation) bool { return g.Place() == of.Place() }) {
			continue // read already
		}
		var fields []cascade.Objects
		q := of.Place().Query()
		q.PageSize = PageSize
		for _, g := range c.Gone {
			if g.Place() == of.Place() {
				fields = append(fields, cascade.Objects{Field: g.Field, Under: folder, ByName: true})
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
					all, odd := field.Names(d, run.Config)
					if odd != "" {
						return nil, doubtful("%s: %s, so nobody knows which objects %s are in use: correct it, or clear it if it names none",
							d.Path, odd, c.Objects)
					}
					for _, name := range all {
						n.add(name)
						said[field.Field] = said[field.Field] || folder.Hold(name)
					}
				}
			}
		}
		for _, field := range fields {
			if !said[field.Field] {
				return nil, doubtful("no document of %s names an object below %s in %s, so every object would count as unused: correct the "+
					"name in the rule, or take it out of gone", of.Place().Collection, folder[0], field.Field)
			}
		}
	}
	return n.has, nil
}
