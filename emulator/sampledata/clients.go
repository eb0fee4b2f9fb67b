package sampledata

import "maps"

// The users of the application that [Client] mentions.
const (
	Me       = "ken"
	Stranger = "hana"
)

// RequestTime stands for the time of the write, as serverTimestamp() of the SDKs does.
type RequestTime struct{}

// Client is what an ordinary app does with a collection. docs/firestore.rules must allow that and no more.
type Client struct {
	Path    string         // of a document of [Me]
	Fields  map[string]any // as the app creates it
	Creates bool
	Edits   map[string]any // what the app changes
	Deletes bool
	Private bool           // other users may not read it
	Wrong   map[string]any // values that a client must not write, for fields of which it may write others
	Chosen  []string       // fields that a client may set when it creates the document, and not change later

	// Harmless are fields that clients may write, each with the reason why.
	Harmless map[string]string
}

// Clients returns what an ordinary app does, by collection. The name of a subcollection is like "users/notifications".
func Clients() map[string]Client {
	all := map[string]Client{}
	for _, p := range parts {
		maps.Copy(all, p.clients)
	}
	return all
}
