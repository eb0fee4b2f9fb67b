package main

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/firesweep/firesweep/functions/placeholderusers/places"
	"github.com/firesweep/firesweep/shared/collections"
	"github.com/firesweep/firesweep/shared/config"
	"github.com/firesweep/firesweep/shared/manifest"
)

// indexFile is a file that the Firebase CLI deploys: https://firebase.google.com/docs/reference/firestore/indexes.
type indexFile struct {
	Indexes        []manifest.Index `json:"indexes"`
	FieldOverrides []fileOverride   `json:"fieldOverrides"`
}

type fileOverride struct {
	manifest.FieldOverride
	TTL bool `json:"ttl,omitempty"`
}

func (o fileOverride) field() string { return o.CollectionGroup + "." + o.FieldPath }

// indexesOf returns what jobs and their workers need of a database beside the automatic indexes, sorted: composite indexes,
// fields with other indexes than the automatic ones, and the TTL policies of the bundle's own records.
func (a *app) indexesOf(jobs []manifest.Entry) (indexFile, error) {
	file := indexFile{Indexes: []manifest.Index{}, FieldOverrides: []fileOverride{}}
	all, err := a.withGroups(slices.DeleteFunc(slices.Clone(a.All), func(e manifest.Entry) bool {
		return !slices.ContainsFunc(jobs, func(job manifest.Entry) bool { return job.Name == e.Name || job.Worker == e.Name })
	}))
	if err != nil {
		return file, err
	}
	overrides := map[string]fileOverride{} // by field; of one that several need, with the indexes of all
	for _, e := range all {
		for _, index := range e.Indexes {
			if !slices.ContainsFunc(file.Indexes, func(i manifest.Index) bool { return indexWords(i) == indexWords(index) }) {
				file.Indexes = append(file.Indexes, index)
			}
		}
		for _, needed := range e.FieldOverrides {
			o := fileOverride{FieldOverride: needed}
			o.Indexes = slices.Clone(o.Indexes)
			for _, index := range overrides[o.field()].Indexes {
				if !slices.Contains(o.Indexes, index) {
					o.Indexes = append(o.Indexes, index)
				}
			}
			overrides[o.field()] = o
		}
	}
	for _, group := range []string{"cleanupRuns", collections.Undo} { // no query asks for expireAt
		o := manifest.FieldOverride{CollectionGroup: group, FieldPath: "expireAt", Indexes: []manifest.OverrideIndex{}}
		overrides[group+".expireAt"] = fileOverride{FieldOverride: o, TTL: true}
	}
	for _, field := range slices.Sorted(maps.Keys(overrides)) {
		file.FieldOverrides = append(file.FieldOverrides, overrides[field])
	}
	slices.SortFunc(file.Indexes, func(a, b manifest.Index) int { return cmp.Compare(indexWords(a), indexWords(b)) })
	return file, nil
}

// withGroups gives functions the indexes of the collection groups that PLACEHOLDER_REFERENCES names, where it is set: in which
// users may be referred to. The list has those of its default.
func (a *app) withGroups(all []manifest.Entry) ([]manifest.Entry, error) {
	all = slices.Clone(all)
	for i, e := range all {
		text := config.For(e.Name, a.getenv)("PLACEHOLDER_REFERENCES")
		if e.Package != "placeholderusers" || text == "" {
			continue
		}
		all[i].FieldOverrides = slices.DeleteFunc(slices.Clone(e.FieldOverrides), func(o manifest.FieldOverride) bool {
			return len(o.Indexes) > 0 // of the places where nothing is set
		})
		listed, err := places.Parse(text)
		if err != nil {
			return nil, wrongUse("PLACEHOLDER_REFERENCES: %w", err)
		}
		for _, place := range listed {
			if place.Group {
				all[i].FieldOverrides = append(all[i].FieldOverrides, manifest.FieldOverride{
					CollectionGroup: place.Collection, FieldPath: place.Field, Indexes: append(manifest.AutomaticIndexes(),
						manifest.OverrideIndex{QueryScope: "COLLECTION_GROUP", Order: "ASCENDING"},
						manifest.OverrideIndex{QueryScope: "COLLECTION_GROUP", ArrayConfig: "CONTAINS"}),
				})
			}
		}
	}
	return all, nil
}

// indexWords describes an index for people. Two equal indexes have the same words.
func indexWords(i manifest.Index) string { return i.CollectionGroup + ": " + fieldWords(i) }

// fieldWords describes an index without its collection, e.g. "status ASCENDING, createdAt ASCENDING (COLLECTION)".
func fieldWords(i manifest.Index) string {
	kind := func(f manifest.IndexField) string { return f.Order + f.ArrayConfig }
	fields := i.Fields
	// Every index ends with the document's name, in the direction of the field before it, whether or not it says so.
	if n := len(fields); n > 1 && fields[n-1].FieldPath == "__name__" && kind(fields[n-1]) == kind(fields[n-2]) {
		fields = fields[:n-1]
	}
	texts := make([]string, len(fields))
	for n, f := range fields {
		texts[n] = f.FieldPath + " " + kind(f)
	}
	return strings.Join(texts, ", ") + " (" + i.QueryScope + ")"
}
