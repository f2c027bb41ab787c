export const changesEn = { field: 'Field', before: 'Before', after: 'After' };
