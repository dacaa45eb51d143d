// Package view is the human and the JSON face of every result. Commands hand
// it facts; it decides how they look on this stream: colour, width, tables,
// and how text from elsewhere is made harmless. It computes nothing that
// another package knows better and asks no question of the world but what
// kind of stream it writes to.
//
// Results go to Out, everything else to Err. With JSON set, Out holds nothing
// but JSON: one document, or one object a line from verbs that go on for a
// while.
package view

import (
	"encoding/json"
	"path/filepath"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// View shows results on two streams.
type View struct {
	Out, Err *Stream
	JSON     bool
	// Dir is the working directory; file names below it are shown relative to it.
	Dir string
}

// document writes v as the one JSON document of this command.
func (v *View) document(doc any) error {
	b, err := plan.Indented(doc)
	if err != nil {
		return err
	}
	_, err = v.Out.w.Write(b)
	return err
}

// record writes doc as one line of a JSON stream.
func (v *View) record(doc any) error {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(doc); err != nil {
		return err
	}
	_, err := v.Out.w.Write([]byte(b.String()))
	return err
}

// show writes either face of one result.
func (v *View) show(doc any, human func(sc screen) []line) error {
	if v.JSON {
		return v.document(doc)
	}
	return v.Out.print(human(v.Out.screen())...)
}

// Raw writes text for programs (a completion script, a schema, formatted
// source) to Out as it is.
func (v *View) Raw(b []byte) error {
	_, err := v.Out.w.Write(b)
	return err
}

// Note says something beside the result, on Err.
func (v *View) Note(text string) {
	for l := range strings.SplitSeq(strings.TrimRight(text, "\n"), "\n") {
		// Nobody can be told that the stream for telling is broken.
		_ = v.Err.print(v.Err.screen().folds(plainLine(l))...)
	}
}

// Lines writes plain lines of a result to Out.
func (v *View) Lines(lines ...string) error {
	out := make([]line, len(lines))
	for i, l := range lines {
		out[i] = line{{plain, l}}
	}
	return v.Out.print(out...)
}

// rel shortens a file name for people.
func (v *View) rel(name string) string { return shorten(v.Dir, name) }

func shorten(dir, name string) string {
	if dir == "" || !filepath.IsAbs(name) {
		return name
	}
	r, err := filepath.Rel(dir, name)
	if err != nil || r == ".." || strings.HasPrefix(r, ".."+string(filepath.Separator)) {
		return name
	}
	return r
}
