export const attachmentsEn = {
  attach: 'Attach files', limits: 'Up to 10 files of 10 MiB each.', uploading: 'Uploading', remove: 'Remove {name}', save: 'Save {name}',
  empty: 'The file is empty.', tooLarge: 'The file is larger than 10 MiB.', left: 'Only 10 files fit. {n} were not added.', removeIt: 'Remove it to go on.', network: 'The server can’t be reached.',
};
