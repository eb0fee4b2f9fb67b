package main

import (
	"cmp"
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
	FieldOverrides []fieldOverride  `json:"fieldOverrides"`
}

// fieldOverride says which indexes a field has instead of the automatic ones. Without any, it is not indexed.
type fieldOverride struct {
	manifest.Field
	Indexes []fieldIndex `json:"indexes"`
	TTL     bool         `json:"ttl,omitempty"`
}

// fieldIndex is one index of a single field.
type fieldIndex struct {
	QueryScope  string `json:"queryScope"`
	Order       string `json:"order,omitempty"`
	ArrayConfig string `json:"arrayConfig,omitempty"`
}

// ofRecords are the fields of Firesweep's own records that no query asks for. terraform/firestore.tf makes the same.
var ofRecords = []fieldOverride{
	{manifest.Field{CollectionGroup: "cleanupRuns", FieldPath: "expireAt"}, []fieldIndex{}, true},
	{manifest.Field{CollectionGroup: collections.Undo, FieldPath: "expireAt"}, []fieldIndex{}, true},
	{manifest.Field{CollectionGroup: collections.Undo, FieldPath: "*"}, []fieldIndex{}, false},
}

// automatic are the indexes that Firestore makes for a field by default.
var automatic = []fieldIndex{
	{QueryScope: "COLLECTION", Order: "ASCENDING"}, {QueryScope: "COLLECTION", Order: "DESCENDING"},
	{QueryScope: "COLLECTION", ArrayConfig: "CONTAINS"},
}

// indexesOf returns what jobs and their workers need of a database beside the automatic indexes, sorted: composite indexes,
// fields with other indexes than the automatic ones, and the TTL policies of the bundle's own records.
func (a *app) indexesOf(jobs []manifest.Entry) (indexFile, error) {
	file := indexFile{Indexes: []manifest.Index{}, FieldOverrides: []fieldOverride{}}
	all, err := a.withGroups(slices.DeleteFunc(slices.Clone(a.All), func(e manifest.Entry) bool {
		return !slices.ContainsFunc(jobs, func(job manifest.Entry) bool { return job.Name == e.Name || job.Worker == e.Name })
	}))
	if err != nil {
		return file, err
	}
	fields := map[manifest.Field][]fieldIndex{}
	for _, e := range all {
		for _, index := range e.Indexes {
			if len(index.Fields) > 1 {
				file.Indexes = append(file.Indexes, index)
				continue
			}
			only := index.Fields[0]
			field := manifest.Field{CollectionGroup: index.CollectionGroup, FieldPath: only.FieldPath}
			if fields[field] == nil { // what is set for a field takes the place of the automatic indexes, so it lists them
				fields[field] = slices.Clone(automatic)
			}
			one := fieldIndex{index.QueryScope, only.Order, only.ArrayConfig}
			if !slices.Contains(fields[field], one) {
				fields[field] = append(fields[field], one)
			}
		}
		for _, field := range e.NotIndexed {
			file.FieldOverrides = append(file.FieldOverrides, fieldOverride{Field: field, Indexes: []fieldIndex{}})
		}
	}
	for field, indexes := range fields {
		file.FieldOverrides = append(file.FieldOverrides, fieldOverride{Field: field, Indexes: indexes})
	}
	file.FieldOverrides = append(file.FieldOverrides, ofRecords...)
	slices.SortFunc(file.Indexes, func(a, b manifest.Index) int { return cmp.Compare(indexWords(a), indexWords(b)) })
	file.Indexes = slices.CompactFunc(file.Indexes, func(a, b manifest.Index) bool { return indexWords(a) == indexWords(b) })
	slices.SortFunc(file.FieldOverrides, func(a, b fieldOverride) int {
		return cmp.Or(cmp.Compare(a.CollectionGroup, b.CollectionGroup), cmp.Compare(a.FieldPath, b.FieldPath))
	})
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
		all[i].Indexes = slices.DeleteFunc(slices.Clone(e.Indexes), func(i manifest.Index) bool {
			return len(i.Fields) == 1 // of a place where nothing is set
		})
		listed, err := places.Parse(text)
		if err != nil {
			return nil, wrongUse("PLACEHOLDER_REFERENCES: %w", err)
		}
		for _, place := range listed {
			if place.Group {
				all[i].Indexes = append(all[i].Indexes, inGroup(place, "ASCENDING", ""), inGroup(place, "", "CONTAINS"))
			}
		}
	}
	return all, nil
}

// inGroup is an index of a place's field in its collection group.
func inGroup(p places.Place, order, arrayConfig string) manifest.Index {
	field := manifest.IndexField{FieldPath: p.Field, Order: order, ArrayConfig: arrayConfig}
	return manifest.Index{CollectionGroup: p.Collection, QueryScope: "COLLECTION_GROUP", Fields: []manifest.IndexField{field}}
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
