// SPDX-License-Identifier: Apache-2.0

package nodemetadata

import (
	"context"
	"slices"
	"testing"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/kube-scheduler/framework"
	schedulerframework "k8s.io/kubernetes/pkg/scheduler/framework"
)

func TestScores(t *testing.T) {
	const configuration = `{"metadataKey":"nrtd.dev/fit-score.small","metadataSource":"Annotation","metadataType":"Number","scoringStrategy":"Highest"}`
	made, err := New(context.Background(), &runtime.Unknown{Raw: []byte(configuration), ContentType: runtime.ContentTypeJSON}, nil)
	if err != nil {
		t.Fatal(err)
	}
	plugin := made.(*byNumber)
	for _, c := range []struct {
		annotations []string
		want        []int64
	}{
		{[]string{"94", "82"}, []int64{100, 1}},
		{[]string{"94", "82.9", ""}, []int64{100, 1, 0}},
		{[]string{"0", "50", "100"}, []int64{1, 50, 100}},
		{[]string{"7", "7", "x"}, []int64{1, 1, 0}},
		{[]string{"", ""}, []int64{0, 0}},
	} {
		var scores framework.NodeScoreList
		for _, text := range c.annotations {
			node := schedulerframework.NewNodeInfo()
			node.SetNode(&v1.Node{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{plugin.MetadataKey: text}}})
			score, _ := plugin.Score(context.Background(), nil, nil, node)
			scores = append(scores, framework.NodeScore{Score: score})
		}
		plugin.NormalizeScore(context.Background(), nil, nil, scores)
		var got []int64
		for _, s := range scores {
			got = append(got, s.Score)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%q: %v, want %v", c.annotations, got, c.want)
		}
	}
}
