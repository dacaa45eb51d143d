package view

import (
	"strings"

	"github.com/okstra/okstra/lang"
)

// listedRun is the JSON face of lang.RunInfo.
type listedRun struct {
	Name        string   `json:"name"`
	Description string   `json:"description,omitempty"`
	TaskType    string   `json:"taskType"`
	Default     bool     `json:"default"`
	Rounds      []string `json:"rounds"`
	File        string   `json:"file"`
	Line        int      `json:"line"`
}

// List shows the runs of a definition.
func (v *View) List(runs []lang.RunInfo) error {
	doc := struct {
		Runs []listedRun `json:"runs"`
	}{Runs: []listedRun{}}
	for _, r := range runs {
		doc.Runs = append(doc.Runs, listedRun{r.Name, r.Description, r.TaskType, r.Default, nonNil(r.Rounds), v.rel(r.Declared.File), r.Declared.Line})
	}
	return v.show(doc, func(width int) []line {
		if len(runs) == 0 {
			return []line{plainLine("The definition holds no runs.")}
		}
		rows := [][]span{header("RUN", "TASK TYPE", "ROUNDS", "DESCRIPTION")}
		for _, r := range doc.Runs {
			name := r.Name
			if r.Default {
				name += " (default)"
			}
			rounds := strings.Join(r.Rounds, ", ")
			if rounds == "" {
				rounds = "-"
			}
			rows = append(rows, []span{{strong, name}, {plain, r.TaskType}, {plain, rounds}, {faint, r.Description}})
		}
		return table(rows, "", width, false)
	})
}

// Written says that init wrote a definition, and for what.
func (v *View) Written(file string, providers []string) error {
	doc := struct {
		File      string   `json:"file"`
		Providers []string `json:"providers"`
	}{file, nonNil(providers)}
	return v.show(doc, func(int) []line {
		found := "no worker CLI is on PATH, so a script stands in for one"
		if len(providers) > 0 {
			found = "found on PATH: " + strings.Join(providers, ", ")
		}
		return []line{
			{{good, "Wrote "}, {strong, file}, {plain, " (" + found + ")."}},
			plainLine("Next: okstra plan review"),
		}
	})
}
