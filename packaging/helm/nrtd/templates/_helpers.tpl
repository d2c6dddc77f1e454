{{/* SPDX-License-Identifier: Apache-2.0 */}}
{{- /* The name of every object but the service account: the release's, made recognisable where it is not. */}}
{{- define "nrtd.name" -}}
{{ if contains "nrtd" .Release.Name }}{{ .Release.Name }}{{ else }}{{ printf "%s-nrtd" .Release.Name | trunc 53 }}{{ end }}
{{- end }}
{{- define "nrtd.selector" -}}
app.kubernetes.io/name: nrtd
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "nrtd.labels" -}}
{{ include "nrtd.selector" . }}
app.kubernetes.io/version: {{ .Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .Release.Service }}
helm.sh/chart: {{ .Chart.Name }}-{{ .Chart.Version }}
{{- with .Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end }}
{{- define "nrtd.extender.selector" -}}
app.kubernetes.io/name: nrtd-extender
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- /* The chart's labels with another name. */}}
{{- define "nrtd.extender.labels" -}}
{{ include "nrtd.labels" . | replace "app.kubernetes.io/name: nrtd\n" "app.kubernetes.io/name: nrtd-extender\n" }}
{{- end }}
{{- define "nrtd.scheduler.selector" -}}
app.kubernetes.io/name: {{ .Values.numaAware.name }}
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}
{{- define "nrtd.scheduler.labels" -}}
{{ include "nrtd.labels" . | replace "app.kubernetes.io/name: nrtd\n" (printf "app.kubernetes.io/name: %s\n" .Values.numaAware.name) }}
{{- end }}
