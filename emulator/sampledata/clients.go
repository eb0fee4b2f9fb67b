package sampledata

import "maps"

// Whoever uses the application, in what parts of the sample say of clients.
const (
	Me       = "ken"
	Stranger = "hana"
)

// RequestTime stands for the time at which Firestore takes a write, as serverTimestamp() of the SDKs does.
type RequestTime struct{}

// Client is what an ordinary app does with a collection that clients may use. docs/firestore.rules must allow that and no more.
type Client struct {
	Path    string         // of a document of [Me]
	Fields  map[string]any // as the app creates it
	Creates bool
	Edits   map[string]any // what the app changes
	Deletes bool
	Private bool           // others may not read it
	Wrong   map[string]any // what a client must not write into fields, where not just any other value
	Chosen  []string       // fields that a client may choose, and not change any more

	// Harmless are fields that jobs read and that clients may write all the same, and why.
	Harmless map[string]string
}

var clients = map[string]Client{}

// Clients returns what an ordinary app does, by collection: its name, with that of the collection above, as "users/notifications".
func Clients() map[string]Client { return maps.Clone(clients) }

// clientsUse says that clients use a collection of a part. Its file calls it in init.
func clientsUse(collection string, c Client) {
	if _, twice := clients[collection]; twice {
		panic("two parts of the sample say how clients use " + collection)
	}
	clients[collection] = c
}
