package extractive

import (
	"cmp"
	"math"
	"slices"
)

const (
	// fewWords is how many different words a sentence needs to be quoted as important.
	fewWords = 4
	// atOnce is how many sentences are compared with each other. An hour of talk has about 800.
	atOnce = 1000
	// kept is how many sentences of atOnce are compared with those of other parts of a long conversation.
	kept = 50
	// common is the share of sentences with a word from which it tells nothing.
	common = 0.25
	// alike is the similarity from which two sentences say the same.
	alike = 0.6
	// damping, rounds: as in PageRank. The order is stable long before.
	damping = 0.85
	rounds  = 30
	// precision is the number of different scores between 0 and 1.
	precision = 1e9
)

// rank returns the sentences by importance, the most important first, without those that repeat one before. Of a long conversation it
// returns the best of each part.
func rank(all []sentence) []int {
	var long []int
	for i, s := range all {
		if distinct(s.words) >= fewWords {
			long = append(long, i)
		}
	}
	for len(long) > atOnce {
		var best []int
		for part := range slices.Chunk(long, atOnce) {
			best = append(best, rankPart(all, part)[:min(kept, len(part))]...)
		}
		slices.Sort(best)
		long = best
	}
	return withoutRepetitions(all, rankPart(all, long))
}

func distinct(words []string) int {
	seen := map[string]bool{}
	for _, w := range words {
		seen[w] = true
	}
	return len(seen)
}

// weight is a word's weight in a sentence.
type weight struct {
	sentence int
	value    float64
}

// rankPart sorts these sentences by importance.
func rankPart(all []sentence, chosen []int) []int {
	vectors := vectorsOf(all, chosen)
	links := make([]map[int]float64, len(chosen)) // similarity by sentence
	for i := range links {
		links[i] = map[int]float64{}
	}
	postings := map[string][]weight{}
	for i, v := range vectors {
		for word, value := range v {
			for _, other := range postings[word] {
				links[i][other.sentence] += value * other.value
				links[other.sentence][i] += value * other.value
			}
			postings[word] = append(postings[word], weight{i, value})
		}
	}
	scores := walk(links)
	order := make([]int, len(chosen))
	for i := range order {
		order[i] = i
	}
	// Rounded, because the sums of floating-point numbers over maps differ in the last digits.
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Compare(math.Round(scores[b]*precision), math.Round(scores[a]*precision))
	})
	for i, o := range order {
		order[i] = chosen[o]
	}
	return order
}

// vectorsOf returns the tf-idf vector of each sentence, with length 1. Words of very many sentences are left out.
func vectorsOf(all []sentence, chosen []int) []map[string]float64 {
	in := map[string]int{} // the number of sentences with the word
	vectors := make([]map[string]float64, len(chosen))
	for i, c := range chosen {
		vectors[i] = map[string]float64{}
		for _, w := range all[c].words {
			if vectors[i][w] == 0 {
				in[w]++
			}
			vectors[i][w]++
		}
	}
	n := float64(len(chosen))
	for _, v := range vectors {
		sum := 0.0
		for w, times := range v {
			if in[w] > 2 && float64(in[w]) > common*n {
				delete(v, w)
				continue
			}
			v[w] = times * math.Log(1+n/float64(in[w]))
			sum += v[w] * v[w]
		}
		for w := range v {
			v[w] /= math.Sqrt(sum)
		}
	}
	return vectors
}

// walk returns each sentence's share of an endless random walk along the links.
func walk(links []map[int]float64) []float64 {
	n := len(links)
	sums := make([]float64, n)
	for i, l := range links {
		for _, value := range l {
			sums[i] += value
		}
	}
	scores, next := make([]float64, n), make([]float64, n)
	for i := range scores {
		scores[i] = 1
	}
	for range rounds {
		for i := range next {
			next[i] = 1 - damping
		}
		for i, l := range links {
			for to, value := range l {
				next[to] += damping * scores[i] * value / sums[i]
			}
		}
		scores, next = next, scores
	}
	return scores
}

// withoutRepetitions leaves out sentences that say the same as one before.
func withoutRepetitions(all []sentence, order []int) (list []int) {
	vectors := vectorsOf(all, order)
	var taken []map[string]float64
	for i, o := range order {
		if len(list) == maxHighlights {
			break
		}
		if slices.ContainsFunc(taken, func(other map[string]float64) bool { return cosine(vectors[i], other) > alike }) {
			continue
		}
		taken, list = append(taken, vectors[i]), append(list, o)
	}
	return list
}

func cosine(a, b map[string]float64) (sum float64) {
	for w, value := range a {
		sum += value * b[w]
	}
	return sum
}
