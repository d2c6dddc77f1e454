{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- define "nrtd.app" -}}
{{ .Values.nameOverride | default "nrtd" }}
{{- end }}
{{- /* The name of every object except the service account: the release's name, with nrtd.app appended if the name does not contain it. */}}
{{- define "nrtd.name" -}}
{{ $app := include "nrtd.app" . -}}
{{ if .Values.fullnameOverride }}{{ .Values.fullnameOverride }}
{{- else if contains $app .Release.Name }}{{ .Release.Name }}
{{- else }}{{ printf "%s-%s" .Release.Name $app | trunc 53 | trimSuffix "-" }}{{ end }}
{{- end }}
{{- define "nrtd.selector" -}}
app.kubernetes.io/name: {{ include "nrtd.app" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "nrtd.labels" -}}
{{ include "nrtd.selector" . }}
{{ include "nrtd.labels.common" . }}
{{- end }}
{{- define "nrtd.labels.common" -}}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "nrtd.extender.selector" -}}
app.kubernetes.io/name: {{ include "nrtd.app" . }}-extender
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "nrtd.extender.labels" -}}
{{ include "nrtd.extender.selector" . }}
{{ include "nrtd.labels.common" . }}
{{- end }}
{{- define "nrtd.scheduler.selector" -}}
app.kubernetes.io/name: {{ .Values.numaAware.name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "nrtd.scheduler.labels" -}}
{{ include "nrtd.scheduler.selector" . }}
{{ include "nrtd.labels.common" . }}
{{- end }}
{{- define "nrtd.image" -}}
{{ .Values.image.repository }}{{ with .Values.image.digest }}@{{ . }}{{ else }}:{{ .Values.image.tag | default .Chart.AppVersion }}{{ end }}
{{- end }}
{{- /* Prefers a node per replica. The argument is the labels of the replicas. */}}
{{- define "nrtd.apart" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          {{- . | nindent 10 }}
{{- end }}
{{- define "nrtd.schedulerPolicy.scheduler" -}}
{{ .Values.schedulerPolicy.schedulerName | default (.Values.numaAware.enabled | ternary .Values.numaAware.name "") }}
{{- end }}
