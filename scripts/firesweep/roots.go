package main

// The certificates of Mozilla's list, where the machine has none, as in the image, which holds nothing but this program.
import _ "golang.org/x/crypto/x509roots/fallback"
