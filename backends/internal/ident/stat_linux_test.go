package ident

import "testing"

func TestParseStat(t *testing.T) {
	rest := " 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20"
	tests := map[string]struct {
		line string
		want Process
		bad  bool
	}{
		"plain":       {"7 (cat) S" + rest, Process{PID: 7, Parent: 1, Start: 4242, Name: "cat"}, false},
		"name":        {"7 (a) b (c) R" + rest, Process{PID: 7, Parent: 1, Start: 4242, Name: "a) b (c"}, false},
		"zombie":      {"7 (cat) Z" + rest, Process{PID: 7, Parent: 1, Start: 4242, Name: "cat", Zombie: true}, false},
		"empty":       {"", Process{}, true},
		"short":       {"7 (cat) S 1 2", Process{}, true},
		"parentheses": {"7 )cat( S" + rest, Process{}, true},
		"no pid":      {"x (cat) S" + rest, Process{}, true},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := parseStat([]byte(tt.line))
			if (err != nil) != tt.bad || got != tt.want {
				t.Errorf("parseStat(%q) = %+v, %v", tt.line, got, err)
			}
		})
	}
}

func FuzzParseStat(f *testing.F) {
	f.Add([]byte("7 (cat) S 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 4242 20"))
	f.Add([]byte(")("))
	f.Fuzz(func(t *testing.T, data []byte) { parseStat(data) })
}
