package plan

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// marshalPlain is json.Marshal without HTML escaping, so that "<" in a prompt
// stays readable in a plan.
func marshalPlain(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), nil
}

// Canonical returns the canonical JSON form of v: object keys sorted by their
// bytes, no white space, no HTML escaping, numbers as Go writes them. It is
// the input of every digest; docs/contract.md holds test vectors.
func Canonical(v any) ([]byte, error) {
	raw, err := marshalPlain(v)
	if err != nil {
		return nil, fmt.Errorf("canonical json: %w", err)
	}
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	var tree any
	if err := dec.Decode(&tree); err != nil {
		return nil, fmt.Errorf("canonical json: %w", err)
	}
	// A decoded tree holds maps, and encoding/json sorts their keys.
	return marshalPlain(tree)
}

// Digest returns the SHA-256 of v's canonical form as "sha256:<hex>". It
// panics on a value that has no JSON form, which is a programmer's fault.
func Digest(v any) string {
	b, err := Canonical(v)
	if err != nil {
		panic(err)
	}
	return DigestBytes(b)
}

// DigestBytes returns the SHA-256 of b as "sha256:<hex>".
func DigestBytes(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// Indented is the form in which okstra writes JSON files for people: sorted as
// the types say, two spaces, no HTML escaping, a final newline.
func Indented(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(v); err != nil {
		return nil, err
	}
	return b.Bytes(), nil
}
