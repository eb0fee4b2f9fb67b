package backendstest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"cloud.google.com/go/firestore"
	"cloud.google.com/go/storage"
	"firebase.google.com/go/v4/auth"
	"firebase.google.com/go/v4/auth/hash"
	"golang.org/x/sync/errgroup"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	"github.com/firesweep/firesweep/emulator/backends"
	"github.com/firesweep/firesweep/emulator/each"
)

// Put uploads an object to the project's bucket and returns its attributes. The metadata may be nil.
func (p *Project) Put(t testing.TB, name string, metadata map[string]string, body []byte) *storage.ObjectAttrs {
	t.Helper()
	attrs, err := p.upload(p.Storage(t), name, metadata, body)
	if err != nil {
		t.Fatal(err)
	}
	return attrs
}

// SetSoftDelete sets how long the project's bucket keeps objects that are deleted from now on; 0 keeps none. Only the embedded
// Storage can do that.
func (p *Project) SetSoftDelete(t testing.TB, retention time.Duration) {
	t.Helper()
	p.backends.Storage().SetSoftDelete(p.Bucket, retention)
}

// SetVersioning lets the project's bucket keep what is overwritten or deleted from now on as noncurrent. Only the embedded
// Storage can do that.
func (p *Project) SetVersioning(t testing.TB) {
	t.Helper()
	p.backends.Storage().SetVersioning(p.Bucket)
}

// PutMany stores n empty objects: directly in the embedded Storage, elsewhere with several uploads at a time.
func (p *Project) PutMany(t testing.TB, n int, of func(i int) (name string, metadata map[string]string)) {
	t.Helper()
	if server := p.backends.Storage(); server != nil {
		for i := range n {
			name, metadata := of(i)
			if err := server.Put(p.Bucket, name, metadata); err != nil {
				t.Fatalf("store %q: %v", name, err)
			}
		}
		return
	}
	client := p.Storage(t)
	var uploads errgroup.Group
	uploads.SetLimit(16)
	for i := range n {
		uploads.Go(func() error {
			name, metadata := of(i)
			_, err := p.upload(client, name, metadata, nil)
			return err
		})
	}
	if err := uploads.Wait(); err != nil {
		t.Fatal(err)
	}
}

func (p *Project) upload(
	client *storage.Client, name string, metadata map[string]string, body []byte,
) (*storage.ObjectAttrs, error) {
	w := client.Bucket(p.Bucket).Object(name).NewWriter(context.Background())
	w.ChunkSize = 0 // otherwise each upload allocates a buffer of 16 MiB
	w.Metadata = metadata
	_, err := w.Write(body)
	if err := errors.Join(err, w.Close()); err != nil {
		return nil, fmt.Errorf("upload %q: %w", name, err)
	}
	return w.Attrs(), nil
}

// writesPerCommit is how many documents [Project.SetMany] writes in a commit. Firestore's BulkWriter sends 20, with which the
// emulator takes several times as long.
const writesPerCommit = 500

// SetMany writes n whole documents of the database (default).
func (p *Project) SetMany(t testing.TB, n int, of func(i int) (path string, fields map[string]any)) {
	t.Helper()
	db := p.Firestore(t)
	var commits errgroup.Group
	commits.SetLimit(4)
	for first := 0; first < n; first += writesPerCommit {
		batch := db.Batch() //nolint:staticcheck // see writesPerCommit
		for i := first; i < min(n, first+writesPerCommit); i++ {
			path, fields := of(i)
			batch.Set(db.Doc(path), fields)
		}
		commits.Go(func() error {
			_, err := batch.Commit(context.Background())
			return err
		})
	}
	if err := commits.Wait(); err != nil {
		t.Fatalf("write %d documents: %v", n, err)
	}
}

// SetAlike writes n whole documents that hold the same. Their path has a verb in place of a number, from 0 on.
func (p *Project) SetAlike(t testing.TB, n int, path string, fields map[string]any) {
	t.Helper()
	p.SetMany(t, n, func(i int) (string, map[string]any) { return fmt.Sprintf(path, i), fields })
}

// PutAlike uploads n objects with the same metadata. Their name has a verb in place of a number, from 0 on.
func (p *Project) PutAlike(t testing.TB, n int, name string, metadata map[string]string) {
	t.Helper()
	p.PutMany(t, n, func(i int) (string, map[string]string) { return fmt.Sprintf(name, i), metadata })
}

// Objects returns the names of the bucket's objects in order.
func (p *Project) Objects(t testing.TB) []string {
	t.Helper()
	names := []string{}
	for o, err := range each.Of(p.Storage(t).Bucket(p.Bucket).Objects(context.Background(), nil)) {
		if err != nil {
			t.Fatalf("list the bucket: %v", err)
		}
		names = append(names, o.Name)
	}
	return names
}

// Set writes a whole document of the database (default).
func (p *Project) Set(t testing.TB, path string, fields map[string]any) {
	t.Helper()
	if _, err := p.Firestore(t).Doc(path).Set(context.Background(), fields); err != nil {
		t.Fatalf("write %s: %v", path, err)
	}
}

// Delete deletes a document of the database (default).
func (p *Project) Delete(t testing.TB, path string) {
	t.Helper()
	if _, err := p.Firestore(t).Doc(path).Delete(context.Background()); err != nil {
		t.Fatalf("delete %s: %v", path, err)
	}
}

// SignUp creates accounts, each with an address of its own.
func (p *Project) SignUp(t testing.TB, uids ...string) {
	t.Helper()
	for _, uid := range uids {
		if _, err := p.Auth(t).CreateUser(context.Background(), new(auth.UserToCreate).UID(uid).Email(uid+"@example.com")); err != nil {
			t.Fatalf("create the account %s: %v", uid, err)
		}
	}
}

// Import creates accounts with all their attributes, such as times, which [Project.SignUp] cannot set.
func (p *Project) Import(t testing.TB, users ...*auth.UserToImport) {
	t.Helper()
	for chunk := range slices.Chunk(users, 1000) {
		result, err := p.Auth(t).ImportUsers(context.Background(), chunk, auth.WithHash(hash.HMACSHA256{Key: []byte("key")}))
		if err != nil || result.FailureCount > 0 {
			t.Fatalf("import accounts: %v %+v", err, result)
		}
	}
}

// Replace replaces an account by another one with the same uid.
func (p *Project) Replace(t testing.TB, uid string, user *auth.UserToImport) {
	t.Helper()
	if !p.EmbeddedAuth() { // the Firebase Emulator Suite's import replaces no account; Google's does
		if err := p.Auth(t).DeleteUser(context.Background(), uid); err != nil {
			t.Fatal(err)
		}
	}
	p.Import(t, user.UID(uid))
}

// SetAccount changes fields of an account's record that only Google itself sets. Only the embedded Authentication can do that.
func (p *Project) SetAccount(t testing.TB, uid string, fields map[string]any) {
	t.Helper()
	if !p.EmbeddedAuth() {
		t.Skip("the Firebase Emulator Suite cannot set the fields of an account that only Google sets")
	}
	if !p.backends.Auth().Set(p.ID, uid, fields) {
		t.Fatalf("there is no account %s", uid)
	}
}

// Accounts returns the uids of the accounts in order.
func (p *Project) Accounts(t testing.TB) []string {
	t.Helper()
	uids := []string{}
	for user, err := range each.Of(p.Auth(t).Users(context.Background(), "")) {
		if err != nil {
			t.Fatalf("list the accounts: %v", err)
		}
		uids = append(uids, user.UID)
	}
	slices.Sort(uids)
	return uids
}

// Documents returns the documents of a collection of the database (default), by id. The collection may be the path of a
// subcollection.
func (p *Project) Documents(t testing.TB, collection string) map[string]map[string]any {
	t.Helper()
	snapshots, err := p.Firestore(t).Collection(collection).Documents(context.Background()).GetAll()
	if err != nil {
		t.Fatalf("read %s: %v", collection, err)
	}
	documents := map[string]map[string]any{}
	for _, snapshot := range snapshots {
		documents[snapshot.Ref.ID] = snapshot.Data()
	}
	return documents
}

// Reset deletes the project's data, so that a test can begin again on it.
func (p *Project) Reset(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset(t)
}

func (p *Project) reset(t testing.TB) {
	t.Helper()
	p.clearStorage(t)
	if _, ok := p.databases[firestore.DefaultDatabaseID]; !ok {
		p.databases[firestore.DefaultDatabaseID] = nil // a function may have written to it
	}
	for database := range p.databases {
		p.clearDatabase(t, database)
	}
	host := p.Environment[backends.AuthHost]
	status, answer, err := emulatorCall(context.Background(), http.MethodDelete, host, p.ID+"/accounts", nil)
	if err != nil || status != http.StatusOK && status != http.StatusNotFound {
		t.Errorf("delete all accounts: %d %s, %v", status, answer, err)
	}
	if tasks := p.Tasks(); tasks != nil {
		tasks.Clear()
	}
}

// clearDatabase empties a database of the emulator. The emulator also takes this call by HTTP, but needs several times as long.
func (p *Project) clearDatabase(t testing.TB, database string) {
	t.Helper()
	conn, err := connection()
	if err == nil { // the request's only field is the database's name, so this message is encoded alike
		request := wrapperspb.String("projects/" + p.ID + "/databases/" + database)
		err = conn.Invoke(context.Background(), "/google.firestore.emulator.v1.FirestoreEmulator/ClearData", request, &emptypb.Empty{})
	}
	if err != nil {
		t.Errorf("clear the database %s: %v", database, err)
	}
}

// clear deletes the project's data and closes the client of Storage. The backends and the connection of the Firestore clients
// stay, because the process's other tests use them.
func (p *Project) clear(t testing.TB) {
	t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.reset(t)
	if p.storage != nil {
		if err := p.storage.Close(); err != nil {
			t.Errorf("close the Storage client: %v", err)
		}
	}
}

func (p *Project) clearStorage(t testing.TB) {
	t.Helper()
	if server := p.backends.Storage(); server != nil {
		server.Clear(p.Bucket)
	} else if p.storage != nil {
		bucket := p.storage.Bucket(p.Bucket)
		for o, err := range each.Of(bucket.Objects(context.Background(), nil)) {
			if err == nil {
				err = bucket.Object(o.Name).Delete(context.Background())
			}
			if err != nil {
				t.Errorf("empty the bucket: %v", err)
			}
		}
	}
}
