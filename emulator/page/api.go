package page

import (
	"context"
	"encoding/json"
	"fmt"
	"mime"
	"net/http"
)

// maxBody is the largest body of a call, in bytes. A call names jobs, runs and documents.
const maxBody = 1 << 20

// call serves a call of the API, with a JSON body: a form of another web page cannot send that.
func call[Q, A any](answer func(context.Context, Q) (A, error)) http.Handler {
	return ours(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type")); err != nil || kind != "application/json" {
			refuse(w, http.StatusUnsupportedMediaType, "not_json", "send JSON, with Content-Type: application/json")
			return
		}
		var question Q
		body := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxBody))
		body.DisallowUnknownFields()
		if err := body.Decode(&question); err != nil {
			refuse(w, http.StatusBadRequest, "invalid_request", fmt.Sprintf("the body cannot be read: %v", err))
			return
		}
		a, err := answer(r.Context(), question)
		if err != nil {
			refuse(w, http.StatusUnprocessableEntity, "failed", err.Error())
			return
		}
		respond(w, http.StatusOK, a)
	}))
}

// refuse answers with an error in the functions' form.
func refuse(w http.ResponseWriter, status int, code, message string) {
	respond(w, status, map[string]any{"error": map[string]string{"code": code, "message": message}})
}

func respond(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // an error means that the caller is gone
}
