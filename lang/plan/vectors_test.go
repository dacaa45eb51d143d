package plan

import (
	"encoding/json"
	"os"
	"regexp"
	"strings"
	"testing"
)

// TestVectors holds the canonical form and the digest to the vectors that
// docs/contract.md publishes: a change of either makes every recorded digest a
// different one.
func TestVectors(t *testing.T) {
	page, err := os.ReadFile("../../docs/contract.md")
	if err != nil {
		t.Fatal(err)
	}
	row := regexp.MustCompile("(?m)^\\| `(.+)` \\| `(.+)` \\| `([0-9a-f]{64})` \\|$")
	vectors := row.FindAllStringSubmatch(string(page), -1)
	if len(vectors) < 6 {
		t.Fatalf("docs/contract.md holds %d vectors", len(vectors))
	}
	for _, v := range vectors {
		value, canonical, digest := v[1], strings.ReplaceAll(v[2], `\|`, "|"), v[3]
		got, err := Canonical(json.RawMessage(value))
		if err != nil {
			t.Errorf("%s: %v", value, err)
			continue
		}
		if string(got) != canonical {
			t.Errorf("the canonical form of %s is %s, not %s", value, got, canonical)
		}
		if got := Digest(json.RawMessage(value)); got != "sha256:"+digest {
			t.Errorf("the digest of %s is %s, not %s", value, got, digest)
		}
	}
}
