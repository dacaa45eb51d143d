package view

import (
	"fmt"
	"strings"

	"github.com/okstra/okstra/lang/plan"
)

// GraphFormat is a language for drawings. The zero value is invalid.
type GraphFormat string

const (
	GraphDOT     GraphFormat = "dot"
	GraphMermaid GraphFormat = "mermaid"
)

// ParseGraphFormat reads the value of --format.
func ParseGraphFormat(s string) (GraphFormat, error) {
	switch f := GraphFormat(s); f {
	case GraphDOT, GraphMermaid:
		return f, nil
	}
	return "", fmt.Errorf("--format is dot or mermaid, not %q", s)
}

// Graph draws the rounds of a plan and their workers. The JSON face is the
// plan's rounds as nodes and edges.
func (v *View) Graph(p *plan.Plan, f GraphFormat) error {
	if v.JSON {
		return v.document(newGraph(p))
	}
	g := newGraph(p)
	switch f {
	case GraphDOT:
		return v.Raw([]byte(g.dot()))
	case GraphMermaid:
		return v.Raw([]byte(g.mermaid()))
	}
	panic("unknown graph format " + string(f))
}

type graph struct {
	Run    string       `json:"run"`
	Rounds []graphRound `json:"rounds"`
	Edges  []graphEdge  `json:"edges"`
}

type graphRound struct {
	Name    string      `json:"name"`
	Kind    string      `json:"kind"`
	Gate    string      `json:"gate,omitempty"`
	Workers []graphNode `json:"workers"`
}

type graphNode struct {
	Key    string `json:"key"`
	Label  string `json:"executionLabel"`
	Duty   string `json:"dutyId"`
	Access string `json:"access"`
}

type graphEdge struct {
	From string `json:"from"`
	To   string `json:"to"`
}

func newGraph(p *plan.Plan) graph {
	g := graph{Run: p.Run.Name, Rounds: []graphRound{}, Edges: []graphEdge{}}
	for _, r := range p.Rounds {
		gr := graphRound{Name: r.Name, Kind: string(r.Kind), Workers: []graphNode{}}
		if r.Gate != nil {
			gr.Gate = r.Gate.Reason
			if gr.Gate == "" {
				gr.Gate = "approval"
			}
		}
		for _, w := range r.Workers {
			gr.Workers = append(gr.Workers, graphNode{w.Key, w.Label, w.Duty, string(w.Access)})
		}
		g.Rounds = append(g.Rounds, gr)
		for _, a := range r.After {
			g.Edges = append(g.Edges, graphEdge{a, r.Name})
		}
	}
	return g
}

// dot uses numbered identifiers: names live in quoted labels only.
func (g graph) dot() string {
	var b strings.Builder
	fmt.Fprintf(&b, "digraph %s {\n  rankdir=LR;\n  node [shape=box];\n  compound=true;\n", dotQuote(g.Run))
	for i, r := range g.Rounds {
		fmt.Fprintf(&b, "  subgraph cluster_%d {\n    label=%s;\n", i, dotQuote(r.title()))
		fmt.Fprintf(&b, "    r%d [shape=point, style=invis];\n", i)
		for j, w := range r.Workers {
			fmt.Fprintf(&b, "    w%d_%d [label=%s];\n", i, j, dotQuote(w.Label+"\n"+w.Key))
		}
		b.WriteString("  }\n")
	}
	index := g.index()
	for _, e := range g.Edges {
		from, to := index[e.From], index[e.To]
		fmt.Fprintf(&b, "  r%d -> r%d [ltail=cluster_%d, lhead=cluster_%d];\n", from, to, from, to)
	}
	b.WriteString("}\n")
	return b.String()
}

func (g graph) mermaid() string {
	var b strings.Builder
	b.WriteString("flowchart LR\n")
	for i, r := range g.Rounds {
		fmt.Fprintf(&b, "  subgraph r%d[%s]\n", i, mermaidQuote(r.title()))
		for j, w := range r.Workers {
			fmt.Fprintf(&b, "    w%d_%d[%s]\n", i, j, mermaidQuote(w.Label+" "+w.Key))
		}
		if len(r.Workers) == 0 {
			fmt.Fprintf(&b, "    n%d[%s]\n", i, mermaidQuote("no workers"))
		}
		b.WriteString("  end\n")
	}
	index := g.index()
	for _, e := range g.Edges {
		fmt.Fprintf(&b, "  r%d --> r%d\n", index[e.From], index[e.To])
	}
	return b.String()
}

func (g graph) index() map[string]int {
	index := map[string]int{}
	for i, r := range g.Rounds {
		index[r.Name] = i
	}
	return index
}

func (r graphRound) title() string {
	t := r.Name
	if r.Kind != string(plan.RoundWork) {
		t += " (" + r.Kind + ")"
	}
	if r.Gate != "" {
		t += "; gate: " + r.Gate
	}
	return t
}

func dotQuote(s string) string {
	lines := strings.Split(s, "\n")
	for i, l := range lines {
		lines[i] = strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(Clean(l))
	}
	return `"` + strings.Join(lines, `\n`) + `"`
}

// mermaidQuote uses mermaid's own entity codes, since a quote ends its text.
func mermaidQuote(s string) string {
	return `"` + strings.NewReplacer(`#`, "#35;", `"`, "#quot;", "<", "#lt;", ">", "#gt;", "`", "#96;").Replace(Clean(s)) + `"`
}
