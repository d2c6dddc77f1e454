// SPDX-License-Identifier: Apache-2.0

// Package nodemetadata stands in for scheduler-plugins' NodeMetadata, which is newer than the newest version that
// the Go module proxy has: the same name, configuration and documented scores, for numbers only. It shows that a
// profile which ranks nodes by one integer on the Node follows nrtd's annotations; it cannot show that the real
// plugin reads the same. When pin.sh can name a version that has it, this folder goes and scheduler.go names theirs.
package nodemetadata

import (
	"context"
	"fmt"
	"math"
	"strconv"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"
	frameworkruntime "k8s.io/kubernetes/pkg/scheduler/framework/runtime"
)

// Name is the plugin's name in the scheduler's configuration.
const Name = "NodeMetadata"

// missing marks a node without a number; it ends below every node that has one.
const missing = math.MinInt64

type args struct {
	MetadataKey     string `json:"metadataKey"`
	MetadataSource  string `json:"metadataSource"`
	MetadataType    string `json:"metadataType"`
	ScoringStrategy string `json:"scoringStrategy"`
}

type byNumber struct{ args }

// New makes the plugin from its arguments in the scheduler's configuration.
func New(_ context.Context, configuration runtime.Object, _ framework.Handle) (framework.Plugin, error) {
	p := &byNumber{}
	if err := frameworkruntime.DecodeInto(configuration, &p.args); err != nil {
		return nil, err
	}
	known := p.MetadataKey != "" && p.MetadataType == "Number" &&
		(p.MetadataSource == "Label" || p.MetadataSource == "Annotation") &&
		(p.ScoringStrategy == "Highest" || p.ScoringStrategy == "Lowest")
	if !known {
		return nil, fmt.Errorf("%s: the stand-in does not know the arguments %+v", Name, p.args)
	}
	return p, nil
}

func (p *byNumber) Name() string { return Name }

// Score is the number on the node, negated where the lowest is best; its fraction is cut off.
func (p *byNumber) Score(_ context.Context, _ framework.CycleState, _ *v1.Pod, node framework.NodeInfo) (int64, *framework.Status) {
	metadata := node.Node().Annotations
	if p.MetadataSource == "Label" {
		metadata = node.Node().Labels
	}
	number, err := strconv.ParseFloat(metadata[p.MetadataKey], 64)
	switch {
	case err != nil:
		return missing, nil
	case p.ScoringStrategy == "Lowest":
		return -int64(number), nil
	default:
		return int64(number), nil
	}
}

func (p *byNumber) ScoreExtensions() framework.ScoreExtensions { return p }

// NormalizeScore spreads the numbers over 1 to 100, all alike are 1, and gives 0 to nodes without one.
func (p *byNumber) NormalizeScore(_ context.Context, _ framework.CycleState, _ *v1.Pod, scores framework.NodeScoreList) *framework.Status {
	least, most := int64(math.MaxInt64), int64(missing)
	for _, s := range scores {
		if s.Score != missing {
			least, most = min(least, s.Score), max(most, s.Score)
		}
	}
	for i := range scores {
		switch score := &scores[i].Score; {
		case *score == missing:
			*score = framework.MinNodeScore
		case least == most:
			*score = framework.MinNodeScore + 1
		default:
			*score = (*score-least)*(framework.MaxNodeScore-framework.MinNodeScore-1)/(most-least) + framework.MinNodeScore + 1
		}
	}
	return nil
}
