package documents

import (
	"context"

	"google.golang.org/grpc"

	"github.com/firesweep/firesweep/shared/documents/wire"
)

// EmulatorDial are the innermost dial options of each connection to an emulator. A program that starts emulators may set them
// before it opens a database; emulator/localdb does, to make the emulator as strict as Google's service.
var EmulatorDial []grpc.DialOption

// OnEmulator returns the dial options that make a client of the emulator its owner, who may also ask for [Everywhere].
func OnEmulator() []grpc.DialOption {
	return append(wire.Before(askEverywhere), grpc.WithPerRPCCredentials(emulatorOwner{}))
}

// emulatorOwner makes the emulator treat the client like a service account, to which no security rules apply.
type emulatorOwner struct{}

// GetRequestMetadata implements credentials.PerRPCCredentials.
func (emulatorOwner) GetRequestMetadata(context.Context, ...string) (map[string]string, error) {
	return map[string]string{"authorization": "Bearer owner"}, nil
}

// RequireTransportSecurity implements credentials.PerRPCCredentials.
func (emulatorOwner) RequireTransportSecurity() bool { return false }

// turnKey marks the context of a transaction that has its turn.
type turnKey struct{}

// takeTurn calls transact: at once on Google's service; on an emulator, when no other transaction of the client is under way.
// Google's service locks the documents that a transaction's query matches, the emulator the whole collection. So on the
// emulator, transactions that query the same collection and then write to it would wait for each other until they time out. A
// transaction within another does not wait, because the client refuses it.
func (c *Client) takeTurn(ctx context.Context, transact func(context.Context) error) error {
	if c.turn == nil || ctx.Value(turnKey{}) != nil {
		return transact(ctx)
	}
	if err := c.turn.Acquire(ctx, 1); err != nil {
		return err
	}
	defer c.turn.Release(1)
	return transact(context.WithValue(ctx, turnKey{}, true))
}
