-- Whether a file that said it owned its job has given it already, under another name.

CREATE INDEX jobs_by_file ON jobs (tenant, origin_node, origin_number, origin_epoch) WHERE origin = 3;
