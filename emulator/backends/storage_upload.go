package backends

import (
	"bytes"
	"cmp"
	"io"
	"mime"
	"mime/multipart"
	"net/textproto"
)

// insert takes an upload in one request, whose body has two parts: the attributes in JSON, and the content.
func (s *StorageServer) insert(r *storageRequest) (any, *apiError) {
	if kind := r.query.Get("uploadType"); kind != "multipart" {
		failure := notImitated("Storage", r.Request)
		failure.message += " with uploadType=" + kind + ": upload in one request, in Node.js with { resumable: false }"
		return nil, failure
	}
	_, parameters, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil {
		return nil, invalid("Invalid Content-Type: " + err.Error())
	}
	parts := multipart.NewReader(bytes.NewReader(r.body), parameters["boundary"])
	var texts [2][]byte
	var header textproto.MIMEHeader
	for i := range texts {
		part, err := parts.NextPart()
		if err == nil {
			texts[i], err = io.ReadAll(part)
		}
		if err != nil {
			return nil, invalid("Malformed multipart body: " + err.Error())
		}
		header = part.Header
	}
	all, failure := given(texts[0])
	if failure != nil {
		return nil, failure
	}
	name, _ := all["name"].(string)
	attributes, conditions := onlySettable(all), r.conditions
	conditions.generation = nil // a new object has no generation to ask for
	if contentType := header.Get("Content-Type"); attributes["contentType"] == nil && contentType != "" {
		attributes["contentType"] = contentType
	}
	return r.shown(s.put(r.bucket, cmp.Or(r.query.Get("name"), name), conditions, attributes, texts[1]))
}
