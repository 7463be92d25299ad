"""What the workbench and the command line share: documents, jobs, settings and pages."""
