// Package catalog holds okstra's own definitions: roles, providers and task
// types with their allowed and forbidden actions, written in the
// run-definition language. It is the single source of every forbidden action.
// It holds text; what the text means is for package lang to say.
package catalog

import _ "embed"

// Filename is the name that diagnostics and plans give the catalog.
const Filename = "<catalog>/catalog.hcl"

//go:embed catalog.hcl
var source string

// Source returns the catalog and the name to parse it under. The caller may
// change the bytes.
func Source() (src []byte, filename string) { return []byte(source), Filename }
