package backends

import (
	"encoding/json"
	"io"
	"net/http"
)

// apiError is an error in the form of Google's JSON APIs.
type apiError struct {
	status  int
	reason  string
	message string
}

func invalid(message string) *apiError {
	return &apiError{http.StatusBadRequest, "invalid", message}
}

// notImitated returns the error for a request that the backend does not imitate.
func notImitated(backend string, r *http.Request) *apiError {
	return &apiError{http.StatusNotImplemented, "notImplemented",
		"Firesweep's local " + backend + " does not imitate " + r.Method + " " + r.URL.EscapedPath()}
}

func (e *apiError) write(w http.ResponseWriter) {
	writeJSON(w, e.status, map[string]any{"error": map[string]any{
		"code": e.status, "message": e.message,
		"errors": []any{map[string]any{"domain": "global", "reason": e.reason, "message": e.message}},
	}})
}

func writeJSON(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value) // fails only when the client has gone
}

// readAll reads a request's body.
func readAll(r io.Reader) ([]byte, *apiError) {
	content, err := io.ReadAll(r)
	if err != nil {
		return nil, invalid("The request's body broke off: " + err.Error())
	}
	return content, nil
}
