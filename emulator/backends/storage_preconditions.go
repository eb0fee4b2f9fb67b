package backends

import (
	"net/http"
	"net/url"
	"strconv"
)

// conditions are a request's conditions on its object.
type conditions struct {
	generation                                  *int64 // this version and no other
	generationMatch, generationNotMatch         *int64
	metagenerationMatch, metagenerationNotMatch *int64
}

// parseConditions reads the JSON API's query parameters and the XML API's headers.
func parseConditions(query url.Values, header http.Header) (conditions, *apiError) {
	var c conditions
	for _, field := range []struct {
		to                **int64
		parameter, header string
	}{
		{&c.generation, "generation", ""},
		{&c.generationMatch, "ifGenerationMatch", "X-Goog-If-Generation-Match"},
		{&c.generationNotMatch, "ifGenerationNotMatch", ""},
		{&c.metagenerationMatch, "ifMetagenerationMatch", "X-Goog-If-Metageneration-Match"},
		{&c.metagenerationNotMatch, "ifMetagenerationNotMatch", ""},
	} {
		text := query.Get(field.parameter)
		if text == "" && field.header != "" {
			text = header.Get(field.header)
		}
		if text == "" {
			continue
		}
		value, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return conditions{}, invalid("Invalid value for " + field.parameter + ": " + text)
		}
		*field.to = &value
	}
	return c, nil
}

// check compares the conditions with a live object; a missing one has generation 0. A request that needs an existing object
// looks for it before it checks the conditions: Cloud Storage documents 404 for deleting a missing object and 412 for another
// generation, and does not say that a condition changes the first.
func (c conditions) check(generation, metageneration int64) *apiError {
	switch {
	case c.generationMatch != nil && *c.generationMatch != generation,
		c.metagenerationMatch != nil && *c.metagenerationMatch != metageneration:
		return &apiError{http.StatusPreconditionFailed, "conditionNotMet",
			"At least one of the pre-conditions you specified did not hold."}
	case c.generationNotMatch != nil && *c.generationNotMatch == generation,
		c.metagenerationNotMatch != nil && *c.metagenerationNotMatch == metageneration:
		return &apiError{http.StatusNotModified, "notModified", "Not modified."}
	}
	return nil
}
