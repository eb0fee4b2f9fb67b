// Package browsertest tests the emulator's page in a real browser: go test ./emulator/page/browsertest.
//
// It uses Chromium or Chrome. If there is none, the tests are skipped, or fail if CI is set. With -pictures they also make
// README's pictures anew.
package browsertest
