package backendstest

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	apiv1 "cloud.google.com/go/firestore/apiv1"
	"google.golang.org/api/option"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/metadata"

	"github.com/firesweep/firesweep/emulator/backends"
)

// SetSecurityRules makes the Firestore emulator apply these rules to clients' requests to the project's database (default), until
// others are set. They do not apply to other projects, named databases, and the clients of [Project.Firestore], which are
// administrators. The error says what is wrong with the rules.
func (p *Project) SetSecurityRules(ctx context.Context, text string) error {
	file := map[string]any{"name": "firestore.rules", "content": text}
	body, err := json.Marshal(map[string]any{"rules": map[string]any{"files": []any{file}}})
	if err != nil {
		return err
	}
	status, answer, err := emulatorCall(ctx, http.MethodPut, p.Environment[backends.FirestoreHost], p.ID+":securityRules", body)
	if err == nil && status != http.StatusOK {
		err = fmt.Errorf("%d: %s", status, answer)
	}
	return err
}

// emulatorCall sends one of an emulator's own calls about a project.
func emulatorCall(ctx context.Context, method, host, project string, body []byte) (status int, answer []byte, err error) {
	url := "http://" + host + "/emulator/v1/projects/" + project
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return 0, nil, err
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	request.Header.Set("Authorization", "Bearer owner") // what the suite lets through
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return 0, nil, err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	answer, err = io.ReadAll(response.Body)
	return response.StatusCode, answer, err
}

// RawFirestore returns a client without a user. The context of each call says who calls: see [Project.As].
func (p *Project) RawFirestore(t testing.TB) *apiv1.Client {
	t.Helper()
	client, err := apiv1.NewClient(context.Background(), option.WithEndpoint(p.Environment[backends.FirestoreHost]),
		option.WithoutAuthentication(), option.WithGRPCDialOption(grpc.WithTransportCredentials(insecure.NewCredentials())))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
	})
	return client
}

// AsOwner returns the context of an administrator's calls, to whom security rules do not apply.
func AsOwner(ctx context.Context) context.Context {
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer owner")
}

// As returns the context of a signed-in user's calls, or, if uid is empty, of somebody who is not signed in. The emulator accepts
// an unsigned token; Google does not.
func (p *Project) As(ctx context.Context, uid string) context.Context {
	if uid == "" {
		return ctx
	}
	now := time.Now()
	token := unsigned(map[string]any{"alg": "none", "typ": "JWT"}) + "." + unsigned(map[string]any{
		"iss": "https://securetoken.google.com/" + p.ID, "aud": p.ID, "sub": uid, "user_id": uid,
		"auth_time": now.Unix(), "iat": now.Unix(), "exp": now.Add(time.Hour).Unix(),
		"firebase": map[string]any{"sign_in_provider": "password", "identities": map[string]any{}},
	}) + "."
	return metadata.AppendToOutgoingContext(ctx, "authorization", "Bearer "+token)
}

func unsigned(part map[string]any) string {
	text, _ := json.Marshal(part) // texts and numbers
	return base64.RawURLEncoding.EncodeToString(text)
}
