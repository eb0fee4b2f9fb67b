// Package browsertest looks at the emulator's page in a real browser, as people do: go test ./emulator/page/browsertest.
//
// It takes Chromium or Chrome. Where there is none it is skipped, but where CI is set, where it fails. With -pictures it also writes the
// pictures of README anew.
package browsertest
